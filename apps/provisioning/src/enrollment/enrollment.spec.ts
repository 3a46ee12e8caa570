import { PROVISIONING_DEVICES_EXISTING } from '@rmm/contracts';
import { hashKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { randomUUID } from 'node:crypto';
import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';

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
  let service: ProvisioningUnderTest;
  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
  }, 60_000);
  afterAll(() => service?.stop());
  beforeEach(() => {
    service.credentials.settles = true;
  });

  const enroll = (body: object) => service.client().post('/agents/enroll', body);
  const devicesOf = async (orgId: string) =>
    (await service.admin.query('select * from device where org_id = $1 order by created_at', [orgId])).rows;

  /** An organization of a fresh partner, with so many sites. */
  const customer = async ({
    sites = 1,
    ...caps
  }: { sites?: number; maxDevices?: number; status?: 'suspended' } = {}) => {
    const partnerId = await service.partner();
    const client = await service.as({ partnerId });
    const orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
    const siteIds: string[] = [];
    for (let site = 1; site <= sites; site += 1) {
      siteIds.push((await client.post('/orgs/sites', { orgId, name: `Site ${site}` })).body.id);
    }
    if (Object.keys(caps).length > 0) await service.partnerFact('partner.updated', partnerId, 2, caps);
    return { partnerId, orgId, siteIds, client };
  };

  it('makes the device, tells of it, and confirms the use of the key', async () => {
    const { orgId, partnerId, siteIds, client } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    const hardwareInfo = { cpuModel: 'i7', cpuCores: 8, ramTotalMb: 16_384.5, futureField: 1 };
    const answer = await enroll(agent(key, { hardwareInfo, isVirtual: false, sentByNewerAgents: true }));
    expect(answer.status).toBe(201);
    expect(answer.headers['cache-control']).toBe('no-store');
    const { deviceId, agentId, authToken } = answer.body;
    expect(answer.body).toEqual({
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
    expect(service.credentials.confirmed).toContain(deviceId);

    const event = await service.hears('device.enrolled', (envelope) => envelope.orgId === orgId);
    expect(event).toMatchObject({ partnerId, actor: { type: 'agent', id: agentId } });
    expect(event.data).toMatchObject({ deviceId, hostname: 'front-desk-01', osType: 'windows', siteId: siteIds[0] });
    const audit = await service.hears('device.enroll', (envelope) => envelope.orgId === orgId);
    expect(audit.data).toMatchObject({ resourceId: deviceId, actor: { type: 'agent' }, result: 'success' });
    expect(JSON.stringify(service.heard)).not.toContain(authToken);

    const shown = await client.get(`/devices/${deviceId}`);
    expect(shown.body).toMatchObject({ id: deviceId, agentId, hostname: 'front-desk-01', siteId: siteIds[0] });
    expect(JSON.stringify(shown.body)).not.toContain('oken');
    expect(await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds: [deviceId, randomUUID()] })).toEqual({
      existing: [deviceId],
    });
  });

  it('knows keys under a legacy pepper', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId, pepper: 'a legacy pepper' });
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it.each([
    ['invalid_enrollment_key', 401, undefined],
    ['enrollment_key_expired', 403, 'enrollment_key_expired'],
    ['enrollment_key_exhausted', 403, 'enrollment_key_exhausted'],
    ['enrollment_key_race_lost', 403, 'enrollment_key_race_lost'],
  ] as const)('answers %s with its own refusal', async (code, status, refusal) => {
    const { orgId, partnerId } = await customer();
    const key = refusal ? service.credentials.mint({ orgId, partnerId, refusal }) : 'f'.repeat(64);
    const answer = await enroll(agent(key));
    expect([answer.status, answer.body.code, answer.body.reason]).toEqual([status, code, refusal]);
    expect(await devicesOf(orgId)).toEqual([]);
  });

  it('wants the secret a key was minted with, in the body or in the header, and gives the use back without', async () => {
    const { orgId, partnerId } = await customer();
    const enrollmentSecretHash = hashKey('open sesame').toString('hex');
    const key = service.credentials.mint({ orgId, partnerId, enrollmentSecretHash });
    const missing = await enroll(agent(key));
    expect([missing.status, missing.body.code]).toEqual([403, 'enrollment_secret_required']);
    const wrong = await enroll(agent(key, { enrollmentSecret: 'guess' }));
    expect([wrong.status, wrong.body.code]).toEqual([403, 'enrollment_secret_invalid']);
    expect(service.credentials.usesOf(key)).toBe(0);
    expect((await enroll(agent(key, { enrollmentSecret: 'open sesame' }))).status).toBe(201);
    const inHeader = service
      .client()
      .post('/agents/enroll', agent(key))
      .set('x-agent-enrollment-secret', 'open sesame');
    expect((await inHeader).status).toBe(201);
    expect(service.credentials.usesOf(key)).toBe(2);
  });

  it("takes the key's site, else the sent one, else the only one, else none", async () => {
    const two = await customer({ sites: 2 });
    const pinned = service.credentials.mint({ ...two, siteId: two.siteIds[1] });
    const free = service.credentials.mint(two);
    expect((await enroll(agent(pinned, { siteId: two.siteIds[0] }))).body.siteId).toBe(two.siteIds[1]);
    expect((await enroll(agent(free, { siteId: two.siteIds[0] }))).body.siteId).toBe(two.siteIds[0]);
    expect((await enroll(agent(free))).body.siteId).toBeNull();
    const foreign = await customer();
    const refused = await enroll(agent(free, { siteId: foreign.siteIds[0] }));
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors)).toEqual(['siteId']);
    expect(service.credentials.usesOf(free)).toBe(2);
  });

  it('gives the use back when the organization or the partner is not active', async () => {
    const { client, ...open } = await customer();
    const key = service.credentials.mint(open);
    await client.patch(`/orgs/organizations/${open.orgId}`, { status: 'suspended' });
    const closed = await enroll(agent(key));
    expect([closed.status, closed.body.code]).toEqual([403, 'tenant_inactive']);
    const suspended = await customer({ status: 'suspended' });
    const other = service.credentials.mint(suspended);
    expect((await enroll(agent(other))).body.code).toBe('tenant_inactive');
    expect([service.credentials.usesOf(key), service.credentials.usesOf(other)]).toEqual([0, 0]);
  });

  it('holds the device cap when many enroll at once, and burns nothing on those it refuses', async () => {
    const { orgId, partnerId } = await customer({ maxDevices: 4 });
    const key = service.credentials.mint({ orgId, partnerId, maxUsage: 50 });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => enroll(agent(key, { hostname: `h${index}` }))),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(4);
    const refused = answers.filter((answer) => answer.status !== 201);
    expect(new Set(refused.map((answer) => `${answer.status} ${answer.body.code}`))).toEqual(
      new Set(['403 device_limit_reached']),
    );
    expect(await devicesOf(orgId)).toHaveLength(4);
    expect(service.credentials.usesOf(key)).toBe(4);
  });

  it('lets exactly the uses of a key through when agents race', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId, maxUsage: 5 });
    const answers = await Promise.all(Array.from({ length: 15 }, () => enroll(agent(key))));
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(5);
    expect(await devicesOf(orgId)).toHaveLength(5);
  });

  it('enrolls though nobody answers the confirmation: the device says that the use was made', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    service.credentials.settles = false;
    const answer = await enroll(agent(key));
    expect(answer.status).toBe(201);
    const { deviceId } = answer.body;
    expect((await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds: [deviceId] })).existing).toEqual([deviceId]);
  });

  it('says so of each use of a device that enrolled twice and was confirmed neither time', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    service.credentials.settles = false;
    const first = await enroll(agent(key));
    const again = await service
      .client()
      .post('/agents/enroll', agent(key))
      .set('x-agent-reenrollment-token', first.body.authToken as string);
    expect(again.body.deviceId).toBe(first.body.deviceId);
    const deviceIds = [...service.credentials.reserved.keys()].slice(-2);
    const { existing } = await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds });
    expect([...existing].sort()).toEqual([...deviceIds].sort());
  });

  it('makes no device so late that its use may be given up', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    let nowMs = Date.now();
    const clock = jest.spyOn(service.app.get(Clock), 'nowMs').mockImplementation(() => (nowMs += 12_001));
    try {
      const refused = await enroll(agent(key));
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      clock.mockRestore();
    }
    expect([await devicesOf(orgId), service.credentials.usesOf(key)]).toEqual([[], 0]);
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it('leaves no device behind when the release is lost too', async () => {
    const { orgId, partnerId } = await customer({ maxDevices: 0 });
    const key = service.credentials.mint({ orgId, partnerId });
    service.credentials.settles = false;
    expect((await enroll(agent(key))).body.code).toBe('device_limit_reached');
    const [reservation] = [...service.credentials.reserved.keys()].slice(-1);
    expect(await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).toEqual({ existing: [] });
  });

  it('makes a fresh device for a known hostname, unless the old token proves that it is the same', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    const first = await enroll(agent(key));
    const second = await enroll(agent(key));
    expect(second.body.deviceId).not.toBe(first.body.deviceId);
    const proven = await service
      .client()
      .post('/agents/enroll', agent(key, { agentVersion: '2.0.0' }))
      .set('x-agent-reenrollment-token', first.body.authToken as string);
    expect(proven.status).toBe(201);
    expect(proven.body).toMatchObject({ deviceId: first.body.deviceId, agentId: first.body.agentId });
    expect(proven.body.authToken).not.toBe(first.body.authToken);
    const old = await service.client(first.body.authToken).post(`/agents/${first.body.agentId}/heartbeat`);
    expect(old.status).toBe(401);
    const [reservation] = [...service.credentials.reserved.keys()].slice(-1);
    expect(service.credentials.confirmed).toContain(reservation);
    expect((await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).existing).toEqual([
      reservation,
    ]);
    expect(await devicesOf(orgId)).toHaveLength(2);
  });

  it('renames a decommissioned device of the same name aside', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    const gone = await enroll(agent(key));
    await service.admin.query(`update device set status = 'decommissioned' where id = $1`, [gone.body.deviceId]);
    await enroll(agent(key, { hostname: 'FRONT-DESK-01' }));
    const names = (await devicesOf(orgId)).map((row) => row.hostname);
    expect(names).toEqual([`front-desk-01~${gone.body.deviceId.slice(0, 8)}`, 'FRONT-DESK-01']);
  });

  it('refuses what no agent sends, before it asks for a key', async () => {
    const before = service.credentials.reserved.size;
    const refused = await enroll({ osType: 'amiga', hostname: 'bell\u0007' });
    expect(refused.status).toBe(400);
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual([
      'architecture',
      'enrollmentKey',
      'hostname',
      'osType',
      'osVersion',
    ]);
    expect(service.credentials.reserved.size).toBe(before);
  });

  it('lets an address try ten times a minute', async () => {
    const client = service.client(undefined, '203.0.113.77');
    for (let tries = 0; tries < 10; tries += 1) {
      expect((await client.post('/agents/enroll', agent('0'.repeat(64)))).status).toBe(401);
    }
    const refused = await client.post('/agents/enroll', agent('0'.repeat(64)));
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  it('fails closed without Redis, and heals', async () => {
    await service.stores.redis.stop();
    const refused = await enroll(agent('0'.repeat(64)));
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    expect(refused.headers['retry-after']).toBeDefined();
    await service.stores.redis.start();
    await eventually(async () => expect((await enroll(agent('0'.repeat(64)))).status).toBe(401));
  });

  it('leaves a use to be settled when the connection is lost at the commit', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    await service.admin.query(`
      create function lose_connection() returns trigger language plpgsql security definer as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
    await service.admin.query(`
      create constraint trigger lose_connection after insert on device deferrable initially deferred
      for each row execute function lose_connection()`);
    try {
      const refused = await enroll(agent(key));
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      await service.admin.query('drop trigger lose_connection on device; drop function lose_connection()');
    }
    const [reservation] = [...service.credentials.reserved.keys()].slice(-1);
    expect(service.credentials.released).not.toContain(reservation);
    expect(service.credentials.confirmed).not.toContain(reservation);
    expect(await service.ask(PROVISIONING_DEVICES_EXISTING, { deviceIds: [reservation] })).toEqual({ existing: [] });
    expect((await enroll(agent(key))).status).toBe(201);
  });

  it('is 503 while credentials cannot be asked, and heals', async () => {
    const { orgId, partnerId } = await customer();
    const key = service.credentials.mint({ orgId, partnerId });
    await service.nats.stop();
    const refused = await enroll(agent(key));
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    expect(refused.headers['retry-after']).toBeDefined();
    await service.nats.start();
    await eventually(async () => expect((await enroll(agent(key))).status).toBe(201), { timeoutMs: 20_000 });
    expect(await devicesOf(orgId)).toHaveLength(1);
  }, 40_000);
});
