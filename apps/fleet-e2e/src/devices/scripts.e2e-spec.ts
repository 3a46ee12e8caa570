import { randomUUID } from 'node:crypto';
import { connectToFleet, createOrganization, inviteAndAccept, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { must } from '../steps.js';

const SCRIPT = { name: 'Disk space', osTypes: ['linux'], language: 'bash', content: 'df -h' };

describe('scripts', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  let orgId: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(client));
  });

  const refusal = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

  it('are created, changed with versions, and deleted in one tenant', async () => {
    const { id } = must(await client.post('/scripts', { ...SCRIPT, orgId }), 201);
    expect(must(await client.patch(`/scripts/${id}`, { content: 'df -hT' }), 200).version).toBe(2);
    expect(must(await client.get(`/scripts/${id}/versions`), 200).data).toMatchObject([{ version: 1 }]);
    expect(must(await client.get(`/scripts/${id}/versions/1`), 200).content).toBe('df -h');
    expect(must(await client.get(`/scripts?orgId=${orgId}&tag=none`), 200).data).toEqual([]);
    for (const refused of [
      await theirs.get(`/scripts/${id}`),
      await theirs.patch(`/scripts/${id}`, { name: 'x' }),
      await theirs.delete(`/scripts/${id}`),
      await theirs.get(`/scripts/bundle/export?ids=${id}`),
    ]) {
      expect(refusal(refused)).toEqual([404, 'not_found']);
    }
    expect(refusal(await theirs.post('/scripts', { ...SCRIPT, orgId }))).toEqual([403, 'organization_access_denied']);
    expect(refusal(await client.post('/scripts', { ...SCRIPT, orgId, name: '' }))).toEqual([400, 'validation_failed']);
    expect(refusal(await client.post('/scripts', { ...SCRIPT, orgId }))).toEqual([409, 'name_taken']);
    must(await client.delete(`/scripts/${id}`), 200);
    expect((await client.get(`/scripts/${id}`)).status).toBe(404);
  });

  it('travel between tenants as a bundle, once for one idempotency key', async () => {
    const [a, b] = await Promise.all(
      ['A', 'B'].map(async (name) => must(await client.post('/scripts', { ...SCRIPT, orgId, name }), 201).id as string),
    );
    const bundle = must(await client.get(`/scripts/bundle/export?ids=${a},${b}`), 200);
    const body = { bundle, availability: 'partner' };
    const preview = must(await theirs.post('/scripts/bundle/preview', body), 200);
    expect(preview.entries.map(({ status }: { status: string }) => status)).toEqual(['new', 'new']);
    const headers = { 'idempotency-key': randomUUID() };
    const first = must(await theirs.send('POST', '/scripts/bundle/import', body, { headers }), 200);
    const second = must(await theirs.send('POST', '/scripts/bundle/import', body, { headers }), 200);
    expect([first.imported, second]).toEqual([2, first]);
    const again = must(await theirs.post('/scripts/bundle/import', { ...body, mode: 'new-version' }), 200);
    expect([again.imported, again.skipped, again.versioned]).toEqual([0, 2, 0]);
    const other = (await createOrganization(theirs)).orgId;
    const clash = must(await theirs.post('/scripts/bundle/import', { bundle, orgId: other }), 200);
    expect([clash.imported, clash.errors.length]).toEqual([0, 2]);
    const wrong = { ...body, bundle: { ...bundle, bundleVersion: 2 } };
    expect(refusal(await theirs.post('/scripts/bundle/import', wrong))).toEqual([400, 'unsupported_bundle_version']);
  });

  it('come from the system library, and members read them by their roles', async () => {
    const library = must(await client.get('/scripts/system-library?limit=100'), 200);
    expect(library.pagination.total).toBeGreaterThanOrEqual(25);
    const { id } = library.data[0];
    const { data: roles } = must(await client.get(`/roles?orgId=${orgId}`), 200);
    const viewer = roles.find(({ name }: { name: string }) => name === 'Org Viewer');
    const member = (await inviteAndAccept(fleet, client, { orgId, roleId: viewer.id })).client;
    expect(refusal(await member.post(`/scripts/import/${id}`, {}))).toEqual([403, 'permission_denied']);
    const copy = must(await client.post(`/scripts/import/${id}`, { availability: 'partner' }), 201);
    expect(must(await member.get(`/scripts/${copy.id}`), 200)).toEqual(copy);
    expect(refusal(await member.delete(`/scripts/${copy.id}`))).toEqual([403, 'permission_denied']);
    expect(refusal(await client.post(`/scripts/import/${id}`, { orgId }))).toEqual([409, 'name_taken']);
  });
});
