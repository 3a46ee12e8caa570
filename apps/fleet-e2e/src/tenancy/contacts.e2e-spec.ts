import { randomUUID } from 'node:crypto';
import { connectToFleet, createOrganization, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { must } from '../steps.js';

describe('contacts', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  let orgId: string;
  let path: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(client));
    path = `/orgs/organizations/${orgId}/contacts`;
  });

  it('are created, listed, changed and deleted in one tenant', async () => {
    const { data } = must(await client.post(path, { name: 'Kim', email: 'kim@acme.example', roles: ['billing'] }), 201);
    expect(must(await client.get(`${path}?role=billing`), 200).data).toEqual([data]);
    expect(must(await client.patch(`/orgs/contacts/${data.id}`, { title: 'CTO' }), 200).data.title).toBe('CTO');
    for (const refused of [
      await theirs.get(path),
      await theirs.post(path, { name: 'x' }),
      await theirs.patch(`/orgs/contacts/${data.id}`, { name: 'x' }),
      await theirs.delete(`/orgs/contacts/${data.id}`),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
    }
    must(await client.delete(`/orgs/contacts/${data.id}`), 200);
    expect(must(await client.get(path), 200).data).toEqual([]);
  });

  it('are imported as the preview says, on any replica, once for one idempotency key', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => ({
      organizationId: orgId,
      name: `Contact ${n}`,
      email: `p${n}@acme.example`,
      externalId: `P${n}`,
    }));
    const preview = must(await client.post('/orgs/contacts/import/preview', { rows }), 200);
    expect(preview.rows.every(({ annotation }: { annotation: string }) => annotation === 'create')).toBe(true);
    const headers = { 'idempotency-key': randomUUID() };
    const first = must(await client.send('POST', '/orgs/contacts/import', { rows }, { headers }), 200);
    const second = must(await client.send('POST', '/orgs/contacts/import', { rows }, { headers }), 200);
    expect(first.imported).toHaveLength(200);
    expect(second).toEqual(first);
    expect(must(await client.get(`${path}?limit=1`), 200).pagination.total).toBe(200);
    const again = must(await client.post('/orgs/contacts/import', { rows }), 200);
    expect([again.imported.length, again.skipped.length]).toEqual([0, 200]);
    const foreign = must(await theirs.post('/orgs/contacts/import', { rows: rows.slice(0, 1) }), 200);
    expect(foreign.errors).toMatchObject([{ code: 'org-not-found' }]);
  });
});
