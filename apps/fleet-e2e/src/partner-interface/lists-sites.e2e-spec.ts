import { ApiClient, connectToFleet, createOrganization, partnerWithMfa, untilStatus, eventually } from '@rmm/testing';
import { createPartnerKey } from '../credentials/machines.js';
import { must } from '../steps.js';

describe('GET /partner-api/sites', () => {
  const fleet = connectToFleet();

  it('pages through all sites of the partner and none of another', async () => {
    const [ours, theirs] = [await partnerWithMfa(fleet), await partnerWithMfa(fleet)];
    const sites = [await createOrganization(ours.client), await createOrganization(ours.client)];
    await createOrganization(theirs.client);
    const { key } = await createPartnerKey(ours.client);
    expect(key).toMatch(/^svc_sp_[A-Za-z0-9_-]{43}$/);
    const machine = new ApiClient(fleet.baseUrl, { apiKey: key });

    const first = await untilStatus(() => machine.get('/partner-api/sites?limit=1'), 200);

    expect(first.body).toMatchObject({ schemaVersion: '1', hasMore: true });
    expect(first.headers.get('x-ratelimit-limit')).toBe('600');
    expect(Number(first.headers.get('x-ratelimit-remaining'))).toBeLessThan(600);
    const seen = [...first.body.data];
    let cursor = first.body.nextCursor as string | null;
    while (cursor) {
      const page = must(await machine.get(`/partner-api/sites?limit=1&cursor=${encodeURIComponent(cursor)}`), 200);
      expect(page.snapshotAt).toBe(first.body.snapshotAt);
      seen.push(...page.data);
      cursor = page.nextCursor;
    }
    // sign-up created an organization with one site; two were added
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map((site) => site.id)).size).toBe(3);
    for (const { orgId, siteId } of sites) {
      expect(seen.find((site) => site.id === siteId)).toMatchObject({ orgId, siteId, name: 'Head Office' });
    }
  });

  it('rejects a missing or unknown key, a missing scope, a bad cursor, an unknown parameter', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { key } = await createPartnerKey(client, { scopes: ['organizations:read'] });
    const anonymous = new ApiClient(fleet.baseUrl);
    const none = await anonymous.get('/partner-api/sites');
    expect([none.status, none.body.code]).toEqual([401, 'partner_api_auth_required']);
    const unknown = await anonymous.as({ apiKey: `svc_sp_${'a'.repeat(43)}` }).get('/partner-api/sites');
    expect([unknown.status, unknown.body.code]).toEqual([401, 'partner_api_invalid_credentials']);
    const machine = anonymous.as({ apiKey: key });
    const scope = await untilStatus(() => machine.get('/partner-api/sites'), 403);
    expect(scope.body).toMatchObject({ code: 'partner_api_scope_required', required: ['sites:read'] });
    const cursor = await machine.get('/partner-api/organizations?cursor=nonsense');
    expect([cursor.status, cursor.body.code]).toEqual([400, 'invalid_partner_export_cursor']);
    const parameter = await machine.get('/partner-api/organizations?color=blue');
    expect([parameter.status, parameter.body.code]).toEqual([400, 'invalid_partner_export_query']);
  });

  it('rejects a revoked key within a second', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { principalId, keyId, key } = await createPartnerKey(client);
    const machine = new ApiClient(fleet.baseUrl, { apiKey: key });
    await untilStatus(() => machine.get('/partner-api/sites'), 200);
    must(await client.delete(`/partner-service-principals/${principalId}/keys/${keyId}`), 200);
    await eventually(async () => expect((await machine.get('/partner-api/sites')).status).toBe(401), {
      timeoutMs: 3_000,
    });
  });
});
