import { randomUUID } from 'node:crypto';
import { insertDevice } from '../../test/device-rows.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('/devices', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let foreign: { orgId: string; deviceId: string };

  let second = 0;
  const device = async (given: {
    partnerId: string;
    orgId: string;
    siteId?: string | null;
    hostname: string;
    status?: string;
    values?: object;
  }) => {
    const id = await insertDevice(testApp.admin, {
      partner_id: given.partnerId,
      org_id: given.orgId,
      site_id: given.siteId ?? null,
      hostname: given.hostname,
      status: given.status ?? 'online',
      ...given.values,
    });
    // Two in one millisecond would have no order, and the time of an insert is the database's.
    await testApp.admin.query(`update device set created_at = to_timestamp($2) where id = $1`, [id, (second += 1)]);
    return id;
  };
  const names = (response: { body: { data: { hostname: string }[] } }) => response.body.data.map((row) => row.hostname);

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteIds = [];
    for (const name of ['A', 'B']) siteIds.push((await client.post('/orgs/sites', { orgId, name })).body.id);
    await device({ partnerId, orgId, siteId: siteIds[0], hostname: 'alpha' });
    await device({ partnerId, orgId, siteId: siteIds[1], hostname: 'beta_1', status: 'offline' });
    await device({ partnerId, orgId, hostname: 'gamma' });
    await device({ partnerId, orgId, hostname: 'retired', status: 'decommissioned' });
    const other = await testApp.createPartner();
    const theirs = await testApp.clientFor({ partnerId: other });
    const foreignOrg = (await theirs.post('/orgs/organizations', { name: 'Foreign' })).body.id as string;
    foreign = {
      orgId: foreignOrg,
      deviceId: await device({ partnerId: other, orgId: foreignOrg, hostname: 'foreign' }),
    };
  });
  afterAll(() => testApp?.stop());

  it('lists newest first without decommissioned devices, 500 per page by default', async () => {
    const client = await testApp.clientFor({ partnerId });
    const all = await client.get('/devices');
    expect(names(all)).toEqual(['gamma', 'beta_1', 'alpha']);
    expect(all.body.pagination).toEqual({ page: 1, limit: 500, total: 3 });
    expect(names(await client.get('/devices?includeDecommissioned=true'))).toHaveLength(4);
    expect(names(await client.get('/devices?limit=1&page=2'))).toEqual(['beta_1']);
    expect((await client.get('/devices?limit=1000')).status).toBe(200);
    expect((await client.get('/devices?limit=1001')).status).toBe(400);
  });

  it.each([
    ['status=offline', ['beta_1']],
    ['status=decommissioned', ['retired']],
    ['search=ALP', ['alpha']],
    ['search=a_1', ['beta_1']],
    ['search=%25', []],
  ])('filters by %s', async (query, expected) => {
    expect(names(await (await testApp.clientFor({ partnerId })).get(`/devices?${query}`))).toEqual(expected);
  });

  it.each([
    ['sort=x', 'sort'],
    ['sort=os&sortDir=asc&order=desc', 'order'],
    ['osType=amiga', 'osType'],
    ['include=everything', 'include.0'],
    ['orgIds=x', 'orgIds.0'],
    ['includeTotal=yes', 'includeTotal'],
  ])('returns 400 for %s', async (query, field) => {
    const client = await testApp.clientFor({ partnerId });
    const { status, body } = await client.get(`/devices?${query}`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(body.details.fieldErrors)).toEqual([field]);
  });

  it('sorts, and reads page after page with cursors', async () => {
    const client = await testApp.clientFor({ partnerId });
    expect(names(await client.get('/devices?sort=hostname'))).toEqual(['alpha', 'beta_1', 'gamma']);
    expect(names(await client.get('/devices?sort=hostname&order=desc'))).toEqual(['gamma', 'beta_1', 'alpha']);
    expect(names(await client.get('/devices?sort=lastSeen&sortDir=desc'))).toHaveLength(3);
    const first = await client.get('/devices?cursor=&limit=2&includeTotal=true');
    expect(names(first)).toEqual(['gamma', 'beta_1']);
    const { nextCursor, ...pagination } = first.body.pagination;
    expect(pagination).toEqual({ limit: 2, total: 3, sort: { by: 'created', dir: 'desc' } });
    const second = await client.get(`/devices?cursor=${nextCursor}&limit=2`);
    expect([names(second), second.body.pagination.nextCursor]).toEqual([['alpha'], null]);
    expect(second.body.pagination).not.toHaveProperty('total');
    for (const query of [`cursor=${nextCursor}&osType=linux`, 'cursor=forged']) {
      expect((await client.get(`/devices?${query}`)).body.code).toBe('invalid_cursor');
    }
  });

  it('leaves the columns of variable size out of lists unless they are named', async () => {
    const large = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId: large });
    const largeOrgId = (await client.post('/orgs/organizations', { name: 'Large' })).body.id as string;
    const values = { custom_fields: { rack: 'A1' }, metrics: { cpu: 1 }, hardware: { cpuCores: 4 } };
    await device({ partnerId: large, orgId: largeOrgId, hostname: 'large', values });
    const [plain] = (await client.get('/devices')).body.data;
    expect(plain).toMatchObject({ customFields: null, metrics: null, hardware: null });
    const [some] = (await client.get('/devices?include=customFields,metrics')).body.data;
    expect(some).toMatchObject({ customFields: { rack: 'A1' }, metrics: { cpu: 1 }, hardware: null });
    const [all] = (await client.get('/devices?include=customFields&include=hardware,metrics')).body.data;
    expect(all).toMatchObject({ customFields: { rack: 'A1' }, metrics: { cpu: 1 }, hardware: { cpuCores: 4 } });
  });

  it('requires an organization for an order in system scope', async () => {
    const client = await testApp.clientFor({ scope: 'system' });
    const refused = await client.get('/devices?sort=hostname');
    expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, ['sort']]);
    expect((await client.get(`/devices?sort=hostname&orgId=${orgId}`)).status).toBe(200);
  });

  it('filters by organization and site and returns 403 for foreign ones', async () => {
    const client = await testApp.clientFor({ partnerId });
    expect(names(await client.get(`/devices?orgId=${orgId}&siteId=${siteIds[0]}`))).toEqual(['alpha']);
    for (const named of [foreign.orgId, randomUUID()]) {
      expect((await client.get(`/devices?orgId=${named}`)).body.code).toBe('organization_access_denied');
      expect((await client.get(`/devices?orgIds=${orgId},${named}`)).body.code).toBe('organization_access_denied');
    }
    const elsewhere = await client.get(`/devices?orgId=${orgId}&siteId=${randomUUID()}`);
    expect([elsewhere.status, Object.keys(elsewhere.body.details.fieldErrors)]).toEqual([400, ['siteId']]);
    expect((await client.get('/devices?orgId=x')).status).toBe(400);
  });

  it('hides devices of other sites and without a site from a restricted member', async () => {
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteIds[0]] });
    const list = await member.get('/devices');
    expect([names(list), list.body.pagination.total]).toEqual([['alpha'], 1]);
    const others = await (await testApp.clientFor({ partnerId })).get('/devices');
    for (const { id, hostname } of others.body.data as { id: string; hostname: string }[]) {
      const response = await member.get(`/devices/${id}`);
      if (hostname === 'alpha') expect(response.status).toBe(200);
      else expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
    }
    expect((await member.get(`/devices?siteId=${siteIds[1]}`)).body.code).toBe('site_access_denied');
  });

  it('returns all fields of a device except its secrets', async () => {
    const client = await testApp.clientFor({ partnerId });
    const [row] = (await client.get('/devices?search=alpha&include=customFields,hardware,metrics')).body.data;
    const shown = await client.get(`/devices/${row.id}`);
    expect(shown.body).toEqual(row);
    expect(Object.keys(row).sort()).toEqual(
      [
        'id',
        'orgId',
        'siteId',
        'agentId',
        'hostname',
        'displayName',
        'osType',
        'deviceRole',
        'osVersion',
        'architecture',
        'agentVersion',
        'status',
        'lastSeenAt',
        'enrolledAt',
        'tags',
        'groupIds',
        'customFields',
        'hardware',
        'metrics',
      ].sort(),
    );
  });

  it('returns 403 without the permission and 404 for the device of another tenant', async () => {
    const blind = await testApp.clientFor({ partnerId, permissions: ['organizations:read'] });
    expect((await blind.get('/devices')).body.required).toEqual(['devices:read']);
    expect((await blind.get(`/devices/${foreign.deviceId}`)).status).toBe(403);
    const client = await testApp.clientFor({ partnerId });
    for (const id of [foreign.deviceId, randomUUID(), 'x']) {
      expect((await client.get(`/devices/${id}`)).body).toMatchObject({ code: 'not_found', error: 'Device not found' });
    }
  });
});
