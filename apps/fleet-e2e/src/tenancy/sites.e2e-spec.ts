import {
  connectToFleet,
  createOrganization,
  inviteAndAccept,
  partnerWithMfa,
  untilStatus,
  type ApiClient,
} from '@rmm/testing';
import { enrollDevice } from '../credentials/machines.js';
import { must, readAll } from '../steps.js';

describe('sites', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  let orgId: string;
  let siteId: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
    ({ orgId, siteId } = await createOrganization(client));
  });

  it('are changed field by field, by their own tenant', async () => {
    const patched = await client.patch(`/orgs/sites/${siteId}`, {
      timezone: 'Europe/Berlin',
      address: { city: 'Berlin' },
      contractStart: '2026-01-01',
    });
    expect(must(patched, 200)).toMatchObject({
      name: 'Head Office',
      timezone: 'Europe/Berlin',
      address: { city: 'Berlin' },
      settings: { contract: { contractStart: '2026-01-01T00:00:00.000Z' } },
    });
    for (const response of [
      await theirs.patch(`/orgs/sites/${siteId}`, { name: 'x' }),
      await theirs.delete(`/orgs/sites/${siteId}`),
      await client.delete('/orgs/sites/no-id'),
    ]) {
      expect(response.status).toBe(404);
    }
    expect((await client.patch(`/orgs/sites/${siteId}`, { timezone: 'Mars/Olympus' })).status).toBe(400);
  });

  it('are deleted without devices only, together with the enrollment keys that are pinned to them', async () => {
    const site = must(await client.post('/orgs/sites', { orgId, name: 'Branch' }), 201).id as string;
    const pinned = must(await client.post('/enrollment-keys', { orgId, siteId: site, name: 'Pinned' }), 201);
    const free = must(await client.post('/enrollment-keys', { orgId, name: 'Free' }), 201);
    const deviceId = await enrollDevice(fleet, client, orgId, site);
    const refused = await client.delete(`/orgs/sites/${site}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'site_not_empty']);
    must(await client.delete(`/devices/${deviceId}`), 200);
    must(await client.delete(`/orgs/sites/${site}`), 200);
    expect((await client.get(`/orgs/sites/${site}`)).status).toBe(404);
    await untilStatus(() => client.get(`/enrollment-keys/${pinned.id}`), 404);
    must(await client.get(`/enrollment-keys/${free.id}`), 200);
    must(await client.post('/orgs/sites', { orgId, name: 'Branch' }), 201);
  });

  it('are closed to viewers and to members of other sites', async () => {
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = (name: string) => roles.find((role) => role.name === name)?.id;
    const other = must(await client.post('/orgs/sites', { orgId, name: 'Other' }), 201).id as string;
    const viewer = (await inviteAndAccept(fleet, client, { orgId, roleId: roleId('Org Viewer') })).client;
    expect((await viewer.patch(`/orgs/sites/${siteId}`, { name: 'x' })).body.code).toBe('permission_denied');
    expect((await viewer.delete(`/orgs/sites/${siteId}`)).body.code).toBe('permission_denied');
    const restricted = { orgId, roleId: roleId('Org Admin'), siteIds: [siteId] };
    const member = (await inviteAndAccept(fleet, client, restricted)).client;
    expect((await member.patch(`/orgs/sites/${other}`, { name: 'x' })).body.code).toBe('site_access_denied');
    expect((await member.delete(`/orgs/sites/${siteId}`)).body.code).toBe('site_access_denied');
  });

  it('are read by cursor in the order of their names', async () => {
    const own = (await createOrganization(client)).orgId;
    for (const name of ['Zebra', 'alpha', 'Mid']) must(await client.post('/orgs/sites', { orgId: own, name }), 201);
    const sites = await readAll<{ name: string }>(client, `/orgs/sites?orgId=${own}&sort=name&limit=2`);
    expect(sites.map(({ name }) => name)).toEqual(['alpha', 'Head Office', 'Mid', 'Zebra']);
  });
});
