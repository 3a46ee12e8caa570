import { randomUUID } from 'node:crypto';
import { PROVISIONING_DEVICES_EXISTING } from '@rmm/contracts';
import { hashKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { EnrollmentRepository } from './enrollment.repository.js';

const agent = (enrollmentKey: string, extra: object = {}) => ({
  enrollmentKey,
  hostname: 'front-desk-01',
  osType: 'windows',
  osVersion: '11 24H2',
  architecture: 'amd64',
  agentVersion: '1.4.0',
  ...extra,
});

describe('POST /agents/enroll', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());
  beforeEach(() => {
    testApp.credentials.settles = true;
  });

  const enroll = (body: object) => testApp.client().post('/agents/enroll', body);
  const devicesOf = async (orgId: string) =>
    (
      await testApp.admin.query(
        `SELECT d.*, s.status, h.hardware FROM device d JOIN device_state s ON s.device_id = d.id
           LEFT JOIN device_hardware h ON h.device_id = d.id WHERE d.org_id = $1 ORDER BY d.created_at`,
        [orgId],
      )
    ).rows;
  const devicesCounted = async (partnerId: string): Promise<number> =>
    (await testApp.admin.query('SELECT devices FROM partner_count WHERE partner_id = $1', [partnerId])).rows[0].devices;
  const decommission = (deviceId: string) =>
    testApp.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [deviceId]);

  /** An organization of a fresh partner, with so many sites. */
  const customer = async ({
    sites = 1,
    ...caps
  }: { sites?: number; maxDevices?: number; status?: 'suspended' } = {}) => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
    const siteIds: string[] = [];
    for (let site = 1; site <= sites; site += 1) {
      siteIds.push((await client.post('/orgs/sites', { orgId, name: `Site ${site}` })).body.id);
    }
    if (Object.keys(caps).length > 0) await testApp.publishPartner('partner.updated', partnerId, 2, caps);
    return { partnerId, orgId, siteIds, client };
  };

  it('creates the device, publishes it and confirms the use of the key', async () => {
    const { orgId, partnerId, siteIds, client } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    const hardwareInfo = { cpuModel: 'i7', cpuCores: 8, ramTotalMb: 16_384.5, futureField: 1 };
    const response = await enroll(agent(key, { hardwareInfo, isVirtual: false, sentByNewerAgents: true }));
    expect(response.status).toBe(201);
    expect(response.headers['cache-control']).toBe('no-store');
    const { deviceId, agentId, authToken } = response.body;
    expect(response.body).toEqual({
      agentId,
      deviceId,
      authToken: expect.stringMatching(/^agt_[A-Za-z0-9_-]{43}$/),
      watchdogAuthToken: null,
      helperAuthToken: null,
      orgId,
      siteId: siteIds[0],
      backupServerUrl: null,
      config: { heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 },
      mtls: null,
      manifestTrustKeys: [],
      manifestKeyDelegations: [],
    });
    const [stored] = await devicesOf(orgId);
    expect(stored).toMatchObject({ id: deviceId, agent_id: agentId, partner_id: partnerId, status: 'offline' });
    expect(stored.agent_token_hash).toEqual(hashKey(authToken));
    expect(stored.hardware).toEqual({ cpuModel: 'i7', cpuCores: 8, ramTotalMb: 16_384.5 });
    expect(testApp.credentials.confirmed).toContain(deviceId);

    const event = await testApp.waitForMessage('device.enrolled', (envelope) => envelope.orgId === orgId);
    expect(event).toMatchObject({ partnerId, actor: { type: 'agent', id: agentId } });
    expect(event.data).toMatchObject({ deviceId, hostname: 'front-desk-01', osType: 'windows', siteId: siteIds[0] });
    const audit = await testApp.waitForMessage('device.enroll', (envelope) => envelope.orgId === orgId);
    expect(audit.data).toMatchObject({ resourceId: deviceId, actor: { type: 'agent' }, result: 'success' });
    expect(JSON.stringify(testApp.received)).not.toContain(authToken);

    const shown = await client.get(`/devices/${deviceId}`);
    expect(shown.body).toMatchObject({ id: deviceId, agentId, hostname: 'front-desk-01', siteId: siteIds[0] });
    expect(JSON.stringify(shown.body)).not.toContain('oken');
    expect(await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds: [deviceId, randomUUID()] })).toEqual({
      existing: [deviceId],
    });
  });

  it('accepts keys hashed with a legacy pepper', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId, pepper: 'a legacy pepper' });
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it.each([
    ['invalid_enrollment_key', 401, undefined],
    ['enrollment_key_expired', 403, 'enrollment_key_expired'],
    ['enrollment_key_exhausted', 403, 'enrollment_key_exhausted'],
    ['enrollment_key_race_lost', 403, 'enrollment_key_race_lost'],
  ] as const)('returns the error of its own for %s', async (code, status, refusal) => {
    const { orgId, partnerId } = await customer();
    const key = refusal ? testApp.credentials.mint({ orgId, partnerId, refusal }) : 'f'.repeat(64);
    const response = await enroll(agent(key));
    expect([response.status, response.body.code, response.body.reason]).toEqual([status, code, refusal]);
    expect(await devicesOf(orgId)).toEqual([]);
  });

  it('requires the secret of the key in body or header and releases the use without it', async () => {
    const { orgId, partnerId } = await customer();
    const enrollmentSecretHash = hashKey('open sesame').toString('hex');
    const key = testApp.credentials.mint({ orgId, partnerId, enrollmentSecretHash });
    const missing = await enroll(agent(key));
    expect([missing.status, missing.body.code]).toEqual([403, 'enrollment_secret_required']);
    const wrong = await enroll(agent(key, { enrollmentSecret: 'guess' }));
    expect([wrong.status, wrong.body.code]).toEqual([403, 'enrollment_secret_invalid']);
    expect(testApp.credentials.usesOf(key)).toBe(0);
    expect((await enroll(agent(key, { enrollmentSecret: 'open sesame' }))).status).toBe(201);
    const inHeader = testApp
      .client()
      .post('/agents/enroll', agent(key))
      .set('x-agent-enrollment-secret', 'open sesame');
    expect((await inHeader).status).toBe(201);
    expect(testApp.credentials.usesOf(key)).toBe(2);
  });

  it('uses the site of the key, else the requested one, else the only one, else none', async () => {
    const two = await customer({ sites: 2 });
    const pinned = testApp.credentials.mint({ ...two, siteId: two.siteIds[1] });
    const free = testApp.credentials.mint(two);
    expect((await enroll(agent(pinned, { siteId: two.siteIds[0] }))).body.siteId).toBe(two.siteIds[1]);
    expect((await enroll(agent(free, { siteId: two.siteIds[0] }))).body.siteId).toBe(two.siteIds[0]);
    expect((await enroll(agent(free))).body.siteId).toBeNull();
    const foreign = await customer();
    const refused = await enroll(agent(free, { siteId: foreign.siteIds[0] }));
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors)).toEqual(['siteId']);
    expect(testApp.credentials.usesOf(free)).toBe(2);
  });

  it('releases the use when the organization or the partner is not active', async () => {
    const { client, ...open } = await customer();
    const key = testApp.credentials.mint(open);
    await client.patch(`/orgs/organizations/${open.orgId}`, { status: 'suspended' });
    const closed = await enroll(agent(key));
    expect([closed.status, closed.body.code]).toEqual([403, 'tenant_inactive']);
    const suspended = await customer({ status: 'suspended' });
    const other = testApp.credentials.mint(suspended);
    expect((await enroll(agent(other))).body.code).toBe('tenant_inactive');
    expect([testApp.credentials.usesOf(key), testApp.credentials.usesOf(other)]).toEqual([0, 0]);
  });

  it('enforces the device cap for 20 concurrent enrollments and releases the uses of refused ones', async () => {
    const { orgId, partnerId } = await customer({ maxDevices: 4 });
    const key = testApp.credentials.mint({ orgId, partnerId, maxUsage: 50 });
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => enroll(agent(key, { hostname: `h${index}` }))),
    );
    expect(responses.filter((response) => response.status === 201)).toHaveLength(4);
    const refused = responses.filter((response) => response.status !== 201);
    expect(new Set(refused.map((response) => `${response.status} ${response.body.code}`))).toEqual(
      new Set(['403 device_limit_reached']),
    );
    const devices = await devicesOf(orgId);
    expect([devices.length, await devicesCounted(partnerId), testApp.credentials.usesOf(key)]).toEqual([4, 4, 4]);

    await decommission(devices[0].id);
    expect((await enroll(agent(key))).status).toBe(201);
    expect((await enroll(agent(key))).body.code).toBe('device_limit_reached');
  });

  it('refuses above the cap without waiting for an enrollment of the partner that is not committed', async () => {
    const { orgId, partnerId } = await customer({ maxDevices: 1 });
    const key = testApp.credentials.mint({ orgId, partnerId });
    expect((await enroll(agent(key))).status).toBe(201);
    await testApp.admin.query('BEGIN');
    await testApp.admin.query('SELECT FROM partner_count WHERE partner_id = $1 FOR UPDATE', [partnerId]);
    try {
      expect((await enroll(agent(key))).body.code).toBe('device_limit_reached');
    } finally {
      await testApp.admin.query('ROLLBACK');
    }
  });

  it('accepts exactly as many agents as the key has uses when they race', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId, maxUsage: 5 });
    const responses = await Promise.all(Array.from({ length: 15 }, () => enroll(agent(key))));
    expect(responses.filter((response) => response.status === 201)).toHaveLength(5);
    expect(await devicesOf(orgId)).toHaveLength(5);
  });

  it('enrolls without a reply to the confirmation and reports the device as existing', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    testApp.credentials.settles = false;
    const response = await enroll(agent(key));
    expect(response.status).toBe(201);
    const { deviceId } = response.body;
    expect((await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds: [deviceId] })).existing).toEqual([deviceId]);
  });

  it('reports both reservations of a device that enrolled twice without confirmation as existing', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    testApp.credentials.settles = false;
    const first = await enroll(agent(key));
    const again = await testApp
      .client()
      .post('/agents/enroll', agent(key))
      .set('x-agent-reenrollment-token', first.body.authToken as string);
    expect(again.body.deviceId).toBe(first.body.deviceId);
    const deviceIds = [...testApp.credentials.reserved.keys()].slice(-2);
    const { existing } = await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds });
    expect([...existing].sort()).toEqual([...deviceIds].sort());
  });

  it('creates no device once its use may have been released', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    let aheadMs = 0;
    const clock = jest.spyOn(testApp.app.get(Clock), 'monotonicMs');
    clock.mockImplementation(() => performance.now() + aheadMs);
    const devices = testApp.app.get(EnrollmentRepository, { strict: false });
    const create = devices.create.bind(devices);
    const slow = jest.spyOn(devices, 'create').mockImplementation((...given) => ((aheadMs = 12_001), create(...given)));
    try {
      const refused = await enroll(agent(key));
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      clock.mockRestore();
      slow.mockRestore();
    }
    expect([await devicesOf(orgId), testApp.credentials.usesOf(key)]).toEqual([[], 0]);
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it('stores no device when the release is lost as well', async () => {
    const { orgId, partnerId } = await customer({ maxDevices: 0 });
    const key = testApp.credentials.mint({ orgId, partnerId });
    testApp.credentials.settles = false;
    expect((await enroll(agent(key))).body.code).toBe('device_limit_reached');
    const [reservation] = [...testApp.credentials.reserved.keys()].slice(-1);
    expect(await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).toEqual({ existing: [] });
  });

  describe('of an agent whose reply was lost', () => {
    const hardwareInfo = { serialNumber: 'SN-1' };
    const releasedFor = async (work: () => Promise<unknown>) => {
      const before = testApp.credentials.released.length;
      await work();
      return testApp.credentials.released.length - before;
    };

    it('returns the same device with a new token, without another use of the key', async () => {
      const { orgId, partnerId } = await customer();
      const key = testApp.credentials.mint({ orgId, partnerId, maxUsage: 1 });
      const first = await enroll(agent(key, { hardwareInfo }));
      const again = await enroll(agent(key, { hardwareInfo, hostname: 'Front-Desk-01' }));
      expect([first.status, again.status]).toEqual([201, 201]);
      expect(again.body).toMatchObject({ deviceId: first.body.deviceId, agentId: first.body.agentId });
      expect(again.body.authToken).not.toBe(first.body.authToken);
      expect(await devicesOf(orgId)).toHaveLength(1);
      const sendHeartbeat = (token: string) => testApp.client(token).post(`/agents/${first.body.agentId}/heartbeat`);
      expect((await sendHeartbeat(again.body.authToken)).status).toBe(200);
      expect((await sendHeartbeat(first.body.authToken)).status).toBe(401);
    });

    it('releases the use of a key that has more', async () => {
      const { orgId, partnerId } = await customer();
      const key = testApp.credentials.mint({ orgId, partnerId, maxUsage: 5 });
      const { body } = await enroll(agent(key, { hardwareInfo }));
      const released = await releasedFor(async () =>
        expect((await enroll(agent(key, { hardwareInfo }))).body.deviceId).toBe(body.deviceId),
      );
      expect(released).toBe(1);
    });

    it.each([
      ['with another hostname', { hardwareInfo, hostname: 'other' }],
      ['with another serial number', { hardwareInfo: { serialNumber: 'SN-2' } }],
      ['without a serial number', {}],
    ])('creates a new device %s', async (_, more) => {
      const { orgId, partnerId } = await customer();
      const key = testApp.credentials.mint({ orgId, partnerId });
      await enroll(agent(key, { hardwareInfo }));
      expect((await enroll(agent(key, more))).status).toBe(201);
      expect(await devicesOf(orgId)).toHaveLength(2);
    });

    it.each([
      ['has reported', (id: string) => `update device_state set last_seen_at = now() where device_id = '${id}'`],
      [
        'enrolled more than 15 minutes ago',
        (id: string) => `update device set enrolled_at = now() - interval '16 minutes' where id = '${id}'`,
      ],
    ])('refuses an exhausted key when the device %s', async (_, sql) => {
      const { orgId, partnerId } = await customer();
      const key = testApp.credentials.mint({ orgId, partnerId, maxUsage: 1 });
      const { body } = await enroll(agent(key, { hardwareInfo }));
      await testApp.admin.query(sql(body.deviceId as string));
      const again = await enroll(agent(key, { hardwareInfo }));
      expect([again.status, again.body.code]).toEqual([403, 'enrollment_key_exhausted']);
    });
  });

  it('creates one device for 8 concurrent requests of one agent', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    const body = agent(key, { hardwareInfo: { serialNumber: 'SN-9' } });
    const responses = await Promise.all(Array.from({ length: 8 }, () => enroll(body)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(responses.map((response) => response.body.deviceId as string)).size).toBe(1);
    expect(await devicesOf(orgId)).toHaveLength(1);
  });

  it('refuses a key whose site was deleted', async () => {
    const { orgId, partnerId, siteIds } = await customer({ sites: 2 });
    const key = testApp.credentials.mint({ orgId, partnerId, siteId: siteIds[0] });
    await testApp.admin.query('update site set deleted_at = now() where id = $1', [siteIds[0]]);
    const response = await enroll(agent(key, { siteId: siteIds[1] }));
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(await devicesOf(orgId)).toHaveLength(0);
  });

  it('audits refusals in the tenant of the key', async () => {
    const { orgId, partnerId } = await customer();
    const expired = testApp.credentials.mint({ orgId, partnerId, refusal: 'enrollment_key_expired' });
    const enrollmentSecretHash = hashKey('right').toString('hex');
    const secret = testApp.credentials.mint({ orgId, partnerId, enrollmentSecretHash });
    await enroll(agent(expired));
    await enroll(agent(secret, { enrollmentSecret: 'wrong' }));
    for (const code of ['enrollment_key_expired', 'enrollment_secret_invalid']) {
      const entry = await testApp.waitForMessage(
        'device.enroll',
        ({ orgId: of, data }) => of === orgId && (data as { errorMessage?: string }).errorMessage === code,
      );
      expect(entry.partnerId).toBe(partnerId);
      expect(entry.data).toMatchObject({ result: 'denied', details: { reason: code, hostname: 'front-desk-01' } });
      expect(JSON.stringify(entry)).not.toContain(expired);
      expect(JSON.stringify(entry)).not.toContain('wrong');
    }
  });

  it('creates a new device for an existing hostname unless the old token identifies the device', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    const first = await enroll(agent(key));
    const second = await enroll(agent(key));
    expect(second.body.deviceId).not.toBe(first.body.deviceId);
    const proven = await testApp
      .client()
      .post('/agents/enroll', agent(key, { agentVersion: '2.0.0' }))
      .set('x-agent-reenrollment-token', first.body.authToken as string);
    expect(proven.status).toBe(201);
    expect(proven.body).toMatchObject({ deviceId: first.body.deviceId, agentId: first.body.agentId });
    expect(proven.body.authToken).not.toBe(first.body.authToken);
    const old = await testApp.client(first.body.authToken).post(`/agents/${first.body.agentId}/heartbeat`);
    expect(old.status).toBe(401);
    const [reservation] = [...testApp.credentials.reserved.keys()].slice(-1);
    expect(testApp.credentials.confirmed).toContain(reservation);
    expect((await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).existing).toEqual([
      reservation,
    ]);
    expect(await devicesOf(orgId)).toHaveLength(2);
  });

  it('renames a decommissioned device of the same hostname', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    const gone = await enroll(agent(key));
    await decommission(gone.body.deviceId);
    await enroll(agent(key, { hostname: 'FRONT-DESK-01' }));
    const names = (await devicesOf(orgId)).map((row) => row.hostname);
    expect(names).toEqual([`front-desk-01~${gone.body.deviceId.slice(0, 8)}`, 'FRONT-DESK-01']);
  });

  it('returns 400 for a malformed request before a key is reserved', async () => {
    const before = testApp.credentials.reserved.size;
    const refused = await enroll({ osType: 'amiga', hostname: 'bell\u0007' });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual([
      'architecture',
      'enrollmentKey',
      'hostname',
      'osType',
      'osVersion',
    ]);
    expect(testApp.credentials.reserved.size).toBe(before);
  });

  it('limits an address to ten attempts per minute', async () => {
    const client = testApp.client(undefined, '203.0.113.77');
    for (let tries = 0; tries < 10; tries += 1) {
      expect((await client.post('/agents/enroll', agent('0'.repeat(64)))).status).toBe(401);
    }
    const refused = await client.post('/agents/enroll', agent('0'.repeat(64)));
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  it('returns 503 without Redis and recovers', async () => {
    await testApp.stores.redis.stop();
    const refused = await enroll(agent('0'.repeat(64)));
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    expect(refused.headers['retry-after']).toBeDefined();
    await testApp.stores.redis.start();
    await eventually(async () => expect((await enroll(agent('0'.repeat(64)))).status).toBe(401));
  });

  it('neither confirms nor releases a use when the connection is lost during the commit', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    await testApp.admin.query(`
      create function lose_connection() returns trigger language plpgsql security definer as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
    await testApp.admin.query(`
      create constraint trigger lose_connection after insert on device deferrable initially deferred
      for each row execute function lose_connection()`);
    try {
      const refused = await enroll(agent(key));
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      await testApp.admin.query('drop trigger lose_connection on device; drop function lose_connection()');
    }
    const [reservation] = [...testApp.credentials.reserved.keys()].slice(-1);
    expect(testApp.credentials.released).not.toContain(reservation);
    expect(testApp.credentials.confirmed).not.toContain(reservation);
    expect(await testApp.call(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).toEqual({ existing: [] });
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it('returns 503 while credentials does not reply and recovers', async () => {
    const { orgId, partnerId } = await customer();
    const key = testApp.credentials.mint({ orgId, partnerId });
    await testApp.nats.stop();
    const refused = await enroll(agent(key));
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    expect(refused.headers['retry-after']).toBeDefined();
    await testApp.nats.start();
    await eventually(async () => expect((await enroll(agent(key))).status).toBe(201));
    expect(await devicesOf(orgId)).toHaveLength(1);
  });
});
