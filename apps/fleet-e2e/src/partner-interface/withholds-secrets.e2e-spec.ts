import {
  ApiClient,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  type SignedIn,
  untilStatus,
} from '@rmm/testing';
import { createPartnerKey } from '../credentials/machines.js';
import { must } from '../steps.js';

const PASSWORD = 'Summ3r!24';

describe('the partner interface', () => {
  const fleet = connectToFleet();
  let partner: SignedIn;
  let machine: ApiClient;
  let orgId: string;
  let siteId: string;

  beforeAll(async () => {
    partner = await partnerWithMfa(fleet);
    ({ orgId, siteId } = await createOrganization(partner.client));
    const { key } = await createPartnerKey(partner.client, { name: 'Documentation' }, { rateLimit: 300 });
    machine = new ApiClient(fleet.baseUrl, { apiKey: key });
    await untilStatus(() => machine.get('/partner-api/me'), 200);
  });

  const changeSite = async (change: object) => must(await partner.client.patch(`/orgs/sites/${siteId}`, change), 200);
  const readSites = async () => must(await machine.get(`/partner-api/sites?orgId=${orgId}`), 200);
  const getWithTag = (path: string, tag: string) =>
    machine.send('GET', path, undefined, { headers: { 'if-none-match': tag } });

  it.each([
    ['the contact', { contact: { name: `Wi-Fi password: ${PASSWORD}` } }, { contact: { name: 'Ada' } }, 'contact.name'],
    ['the name', { name: `Office (https://root:${PASSWORD}@router.example)` }, { name: 'Office' }, 'name'],
  ])('withholds a site with a secret in %s until it is removed', async (_where, secret, harmless, path) => {
    await changeSite(secret);
    const page = await readSites();
    expect(page.blocked).toEqual([
      { resource: 'sites', id: siteId, orgId, reason: 'secret_detected', fieldPaths: [path] },
    ]);
    expect(page.data).toEqual([]);
    expect(JSON.stringify(page)).not.toContain(PASSWORD);
    await changeSite(harmless);
    const again = await readSites();
    expect(again.data).toMatchObject([{ id: siteId, ...harmless }]);
    expect(again).not.toHaveProperty('blocked');
  });

  it('withholds an organization with a token in its name', async () => {
    const token = `ghp_${'aB3'.repeat(12)}`;
    const { orgId: other } = await createOrganization(partner.client);
    must(await partner.client.patch(`/orgs/organizations/${other}`, { name: `Acme ${token}` }), 200);
    const page = must(await machine.get('/partner-api/organizations'), 200);
    expect(page.blocked).toEqual([
      { resource: 'organizations', id: other, orgId: other, reason: 'secret_detected', fieldPaths: ['name'] },
    ]);
    expect(page.data.map(({ id }: { id: string }) => id)).toContain(orgId);
    expect(JSON.stringify(page)).not.toContain(token);
  });

  it('responds 304 to a consumer that polls, until a site changes', async () => {
    const path = `/partner-api/sites?orgId=${orgId}`;
    const first = await machine.get(path);
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^W\/"/);
    const unchanged = await getWithTag(path, tag);
    expect([unchanged.status, unchanged.headers.get('etag')]).toEqual([304, tag]);
    await changeSite({ name: 'Renamed' });
    const changed = await getWithTag(path, tag);
    expect([changed.status, changed.body.data[0].name]).toEqual([200, 'Renamed']);
  });

  it('describes its key without charging it', async () => {
    const before = must(await machine.get('/partner-api/me'), 200);
    const after = must(await machine.get('/partner-api/me'), 200);
    expect(after.limits).toEqual(before.limits);
    expect(after).toMatchObject({
      partnerId: partner.partnerId,
      principal: { name: 'Documentation' },
      key: { name: 'First', prefix: machine.credentials.apiKey?.slice(0, 18), expiresAt: null },
      scopes: expect.arrayContaining(['sites:read']),
      limits: { reads: { limit: 300 }, writes: { limit: 120, remaining: 120 } },
    });
    await readSites();
    const charged = must(await machine.get('/partner-api/me'), 200);
    expect(charged.limits.reads.remaining).toBe(after.limits.reads.remaining - 1);
  });
});
