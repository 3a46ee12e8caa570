import { randomUUID } from 'node:crypto';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const SUMMARY = '/devices/management-posture/summary';
const DEVICES = '/devices/management-posture/devices';
const ZEROS = {
  ...{ totalDevices: 0, neverScanned: 0, stale: 0, scannedNoneDetected: 0 },
  ...{ detectedDevices: 0, freshDetectedDevices: 0 },
};

describe('GET /devices/management-posture', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let deviceId: string;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteId = (await client.post('/orgs/sites', { orgId, name: 'Office' })).body.id;
    await client.post('/orgs/sites', { orgId, name: 'Store' }); // with one site alone it would be that of every device
    deviceId = (await enrolled({ siteId })).deviceId;
    await enrolled({ categories: null });
  });
  afterAll(() => testApp?.stop());

  /** Enrolls a device whose agent reports one tool, unless `categories` is null. */
  const enrolled = async ({ siteId: site = null as string | null, categories = TOOL as object | null }) => {
    const enrollmentKey = testApp.credentials.mint({ orgId, partnerId, siteId: site });
    const os = { osType: 'linux', osVersion: '13', architecture: 'arm64' };
    const { body } = await testApp.client().post('/agents/enroll', { enrollmentKey, hostname: 'h', ...os });
    if (categories) {
      const report = { collectedAt: new Date().toISOString(), scanDurationMs: 1, categories };
      await testApp.client(body.authToken).put(`/agents/${body.agentId}/management/posture`, report).expect(200);
    }
    return body as { deviceId: string };
  };
  const TOOL = { rmm: [{ name: 'Datto RMM', version: '4.4', status: 'active' }] };
  const get = async (path: string, user: Partial<FakeUser> = {}) =>
    (await testApp.clientFor({ partnerId, ...user })).get(path);
  const member = (more: Partial<FakeUser> = {}) => ({ scope: 'organization' as const, orgId, ...more });

  it('summarizes by organization and in total', async () => {
    const { status, body } = await get(SUMMARY);
    const counts = { ...ZEROS, totalDevices: 2, neverScanned: 1, detectedDevices: 1, freshDetectedDevices: 1 };
    const products = [{ product: 'Datto RMM', status: 'active', deviceCount: 1, freshDeviceCount: 1 }];
    const orgs = [{ orgId, ...counts, products }];
    expect([status, body]).toEqual([200, { data: { category: 'rmm', stalenessDays: 7, totals: counts, orgs } }]);
    const other = (await get(`${SUMMARY}?category=siem&stalenessDays=365&orgId=${orgId}`, member())).body.data;
    expect(other).toMatchObject({ category: 'siem', stalenessDays: 365, totals: { scannedNoneDetected: 1 } });
  });

  it('lists the devices with a product', async () => {
    const { status, body } = await get(`${DEVICES}?product=Datto%20RMM`);
    expect([status, Object.keys(body), body.data.total, body.data.page, body.data.limit]).toEqual([
      200,
      ['data'],
      1,
      1,
      50,
    ]);
    expect(body.data.devices).toEqual([
      {
        ...{ id: deviceId, orgId, siteId, hostname: 'h', displayName: null, status: 'offline', osType: 'linux' },
        ...{ lastSeenAt: null, collectedAt: expect.any(String), detectionStatus: 'active', detectionVersion: '4.4' },
      },
    ]);
    expect((await get(`${DEVICES}?product=Datto%20RMM&status=installed&page=3`)).body.data).toMatchObject({
      devices: [],
    });
  });

  it('counts for a restricted member the devices of its sites, and zeros for an empty list', async () => {
    const ofSite = (await get(SUMMARY, member({ siteIds: [siteId] }))).body.data;
    expect(ofSite.totals).toMatchObject({ totalDevices: 1, neverScanned: 0 });
    const ofNone = (await get(SUMMARY, member({ siteIds: [] }))).body.data;
    expect(ofNone).toMatchObject({ totals: ZEROS, orgs: [] });
    const inGroups = (await get(SUMMARY, member({ deviceGroupIds: [randomUUID()] }))).body.data;
    expect(inGroups.totals).toEqual(ZEROS);
    for (const user of [member({ siteIds: [] }), member({ deviceGroupIds: [randomUUID()] })]) {
      expect((await get(`${DEVICES}?product=Datto%20RMM`, user)).body.data).toMatchObject({ devices: [], total: 0 });
    }
  });

  it('shows nothing of other tenants, and refuses to name their organizations', async () => {
    const other = { partnerId: await testApp.createPartner() };
    expect((await get(SUMMARY, other)).body.data).toMatchObject({ totals: ZEROS, orgs: [] });
    for (const path of [`${SUMMARY}?orgId=${orgId}`, `${DEVICES}?product=x&orgId=${orgId}`]) {
      const refused = await get(path, other);
      expect([refused.status, refused.body.code]).toEqual([403, 'organization_access_denied']);
    }
    expect((await get(SUMMARY, { permissions: ['sites:read'] })).status).toBe(403);
    expect((await testApp.client().get(SUMMARY)).status).toBe(401);
  });

  it.each([
    [`${SUMMARY}?stalenessDays=0`, 'stalenessDays'],
    [`${SUMMARY}?stalenessDays=366`, 'stalenessDays'],
    [`${SUMMARY}?stalenessDays=x`, 'stalenessDays'],
    [`${SUMMARY}?category=antivirus`, 'category'],
    [`${SUMMARY}?orgId=1`, 'orgId'],
    [DEVICES, 'product'],
    [`${DEVICES}?product=x&limit=501`, 'limit'],
    [`${DEVICES}?product=x&status=off`, 'status'],
    [`${DEVICES}?product=x&category=all`, 'category'],
  ])('refuses %s', async (path, field) => {
    const { status, body } = await get(path);
    expect([status, Object.keys(body.details.fieldErrors)]).toEqual([400, [field]]);
  });

  it('counts devices without reports at once', async () => {
    const own = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId: own });
    const org = (await client.post('/orgs/organizations', { name: 'New' })).body.id as string;
    await insertDevice(testApp.admin, { partner_id: own, org_id: org });
    expect((await client.get(SUMMARY)).body.data.totals).toEqual({ ...ZEROS, totalDevices: 1, neverScanned: 1 });
  });
});
