import {
  connectToFleet,
  createOrganization,
  enrollTotp,
  inviteAndAccept,
  partnerWithMfa,
  type ApiClient,
} from '@rmm/testing';
import { createApiKey, enrollDevice, machine } from '../credentials/machines.js';
import { must } from '../steps.js';

const GROUPS = '/orgs/device-groups';

describe('device groups', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  let orgId: string;
  let seen: string;
  let hidden: string;
  let groupId: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(client));
    seen = await enrollDevice(fleet, client, orgId);
    hidden = await enrollDevice(fleet, client, orgId);
    groupId = must(await client.post(GROUPS, { orgId, name: 'Servers' }), 201).id;
    must(await client.send('PUT', `${GROUPS}/${groupId}/devices`, { deviceIds: [seen] }), 200);
  });

  const roleId = async (name: string) => {
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    return roles.find((role) => role.name === name)?.id;
  };
  const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);

  it('are created, listed, changed and deleted', async () => {
    const group = must(await client.post(GROUPS, { orgId, name: 'Desks', description: 'All desks' }), 201);
    expect(group).toMatchObject({ orgId, siteId: null, name: 'Desks', deviceCount: 0 });
    const filled = await client.send('PUT', `${GROUPS}/${group.id}/devices`, { deviceIds: [seen, hidden] });
    expect(must(filled, 200).deviceCount).toBe(2);
    expect(idsOf(must(await client.get(`/devices?groupIds=${group.id}`), 200)).sort()).toEqual([seen, hidden].sort());
    expect(idsOf(must(await client.get(`${GROUPS}?orgId=${orgId}&sort=name`), 200))).toEqual([group.id, groupId]);
    expect(must(await client.patch(`${GROUPS}/${group.id}`, { name: 'Tables' }), 200).name).toBe('Tables');
    must(await client.delete(`${GROUPS}/${group.id}`), 200);
    expect((await client.get(`${GROUPS}/${group.id}`)).status).toBe(404);
  });

  it('belong to one tenant', async () => {
    const { orgId: foreignOrg } = await createOrganization(theirs);
    expect((await theirs.get(`${GROUPS}/${groupId}`)).status).toBe(404);
    expect((await theirs.delete(`${GROUPS}/${groupId}`)).status).toBe(404);
    expect((await theirs.post(GROUPS, { orgId, name: 'x' })).body.code).toBe('organization_access_denied');
    const own = must(await theirs.post(GROUPS, { orgId: foreignOrg, name: 'Mine' }), 201);
    const stolen = await theirs.send('PUT', `${GROUPS}/${own.id}/devices`, { deviceIds: [seen] });
    expect([stolen.status, Object.keys(stolen.body.details.fieldErrors)]).toEqual([400, ['deviceIds.0']]);
    const invited = { email: 'x@groups.test', name: 'X', orgId, roleId: await roleId('Org Admin') };
    const refused = await client.post('/users/invite', { ...invited, deviceGroupIds: [own.id] });
    expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, ['deviceGroupIds.0']]);
  });

  it('restrict a member, the devices it sees and the keys it creates', async () => {
    const restriction = { orgId, roleId: await roleId('Org Admin'), deviceGroupIds: [groupId] };
    const member = (await inviteAndAccept(fleet, client, restriction)).client;
    expect(idsOf(must(await member.get('/devices'), 200))).toEqual([seen]);
    must(await member.get(`/devices/${seen}`), 200);
    expect(idsOf(must(await member.get(GROUPS), 200))).toEqual([groupId]);
    for (const response of [
      await member.get(`/devices/${hidden}`),
      await member.get(`/devices/${hidden}/custom-fields`),
      await member.delete(`/devices/${hidden}`),
      await member.patch(`${GROUPS}/${groupId}`, { name: 'Mine' }),
      await member.send('PUT', `${GROUPS}/${groupId}/devices`, { deviceIds: [seen, hidden] }),
    ]) {
      expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
    }
  });

  it('restrict the API key of a restricted member', async () => {
    const restriction = { orgId, roleId: await roleId('Org Admin'), deviceGroupIds: [groupId] };
    const invited = await inviteAndAccept(fleet, client, restriction);
    const { client: member } = await enrollTotp(invited.client);
    const created = must(await member.post('/api-keys', { orgId, name: 'Sync', scopes: ['devices:read'] }), 201);
    const sync = machine(fleet, created.key as string);
    must(await sync.get(`/devices/${seen}/custom-fields`), 200);
    expect((await sync.get(`/devices/${hidden}/custom-fields`)).body.code).toBe('site_access_denied');
    must(await machine(fleet, (await createApiKey(client, orgId)).key).get(`/devices/${hidden}/custom-fields`), 200);
  });

  it('let go of a decommissioned device', async () => {
    const group = must(await client.post(GROUPS, { orgId, name: 'Short' }), 201);
    const deviceId = await enrollDevice(fleet, client, orgId);
    must(await client.send('PUT', `${GROUPS}/${group.id}/devices`, { deviceIds: [deviceId] }), 200);
    must(await client.delete(`/devices/${deviceId}`), 200);
    expect(must(await client.get(`${GROUPS}/${group.id}`), 200).deviceCount).toBe(0);
    const again = await client.send('PUT', `${GROUPS}/${group.id}/devices`, { deviceIds: [deviceId] });
    expect(again.status).toBe(400);
  });
});
