import { randomBytes, randomUUID } from 'node:crypto';
import { UnauthenticatedError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { AgentsRepository, type AgentHeartbeat, type ReportedHeartbeat } from './agents.repository.js';

describe('AgentsRepository', () => {
  let database: ProvisioningTestDatabase;
  let agents: AgentsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    agents = new AgentsRepository(database.worker);
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const NOTHING: ReportedHeartbeat = { agentVersion: null, osVersion: null, metrics: null };
  const store = (deviceId: string, heartbeat: Partial<ReportedHeartbeat> = {}) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      agents.storeChanged(tx, deviceId, { ...NOTHING, ...heartbeat }, 300),
    );
  const storeSet = async (...heartbeats: (Partial<AgentHeartbeat> & { deviceId: string })[]) =>
    [...(await agents.storeUnchanged(heartbeats.map((each) => ({ orgId, ...NOTHING, ...each })))).keys()].sort();
  const stateOf = async (id: string) =>
    (await database.admin.query('SELECT * FROM device_state WHERE device_id = $1', [id])).rows[0];

  it('finds an agent by its token unless the device is decommissioned', async () => {
    const [active, ended] = [randomBytes(32), randomBytes(32)];
    const deviceId = await database.createDevice(partnerId, orgId, { agent_token_hash: active });
    await database.createDevice(partnerId, orgId, { agent_token_hash: ended, status: 'decommissioned' });
    expect(await agents.findByTokenHash(active)).toMatchObject({ deviceId, orgId, partnerId, siteId: null });
    expect(await agents.findByTokenHash(ended)).toBeNull();
    expect(await agents.findByTokenHash(randomBytes(32))).toBeNull();
  });

  it('reports the changes of a heartbeat and raises the version with each', async () => {
    const id = await database.createDevice(partnerId, orgId, { status: 'offline', agent_version: '1.0' });
    const startedMs = Date.now();
    const first = await store(id, { agentVersion: '1.1', metrics: '{"cpu":3}' });
    expect(first).toMatchObject({ cameOnline: true, hasNewAgentVersion: true, agentVersion: '1.1', version: '3' });
    const second = await store(id, { agentVersion: '1.1' });
    expect(second).toMatchObject({ cameOnline: false, hasNewAgentVersion: false, version: '3' });
    const state = await stateOf(id);
    expect(state).toMatchObject({ status: 'online', agent_version: '1.1', metrics: { cpu: 3 } });
    expect(state.offline_check_at.getTime() - startedMs).toBeGreaterThan(290_000);
  });

  it('throws UnauthenticatedError for a decommissioned device', async () => {
    const id = await database.createDevice(partnerId, orgId, { status: 'decommissioned' });
    await expect(store(id)).rejects.toThrow(UnauthenticatedError);
  });

  it('stores a set of heartbeats that change neither status nor versions, and leaves the others alone', async () => {
    const create = (values: Record<string, unknown>) => database.createDevice(partnerId, orgId, values);
    const known = { agent_version: '1.0', os_version: '13' };
    const online = await create(known);
    const inMaintenance = await create({ ...known, status: 'maintenance' });
    const offline = await create({ ...known, status: 'offline' });
    const updated = await create(known);
    const upgraded = await create(known);
    const ended = await create({ status: 'decommissioned' });
    const stored = await storeSet(
      { deviceId: online, agentVersion: '1.0', osVersion: '13', metrics: '{"cpu":5}' },
      { deviceId: inMaintenance },
      { deviceId: offline },
      { deviceId: updated, agentVersion: '1.1' },
      { deviceId: upgraded, osVersion: '14' },
      { deviceId: ended },
      { deviceId: randomUUID() },
    );
    expect(stored).toEqual([online, inMaintenance].sort());
    expect(await stateOf(online)).toMatchObject({ metrics: { cpu: 5 }, last_seen_at: expect.any(Date) });
    expect((await stateOf(inMaintenance)).status).toBe('maintenance');
    expect((await stateOf(offline)).last_seen_at).toBeNull();
  });

  it('reports with each heartbeat whether commands may wait', async () => {
    const [idle, marked] = [
      await database.createDevice(partnerId, orgId),
      await database.createDevice(partnerId, orgId, { has_commands: true }),
    ];
    const heartbeats = [idle, marked].map((deviceId) => ({ deviceId, orgId, ...NOTHING }));
    expect(Object.fromEntries(await agents.storeUnchanged(heartbeats))).toEqual({ [idle]: false, [marked]: true });
    expect(await store(idle)).toMatchObject({ hasCommands: false });
    expect(await store(marked)).toMatchObject({ hasCommands: true });
  });

  it('stores no heartbeat that names another organization than the one of the device', async () => {
    const deviceId = await database.createDevice(partnerId, orgId);
    expect(await storeSet({ deviceId, orgId: await database.createOrganization(randomUUID()) })).toEqual([]);
  });

  it('does not wait for a device that another transaction has locked', async () => {
    const [locked, free] = [
      await database.createDevice(partnerId, orgId),
      await database.createDevice(partnerId, orgId),
    ];
    const other = await database.admin.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM device_state WHERE device_id = $1 FOR UPDATE', [locked]);
    try {
      expect(await storeSet({ deviceId: locked }, { deviceId: free })).toEqual([free]);
    } finally {
      await other.query('ROLLBACK');
      other.release();
    }
  });

  it('updates the rows of heartbeats in place, without an entry in any index', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) ids.push(await database.createDevice(partnerId, orgId));
    const indexBytes = async () =>
      (await database.admin.query(`SELECT pg_indexes_size('device_state')::int AS bytes`)).rows[0].bytes;
    const before = await indexBytes();
    for (let round = 0; round < 50; round += 1) {
      const metrics = JSON.stringify({ round, padding: 'x'.repeat(200) });
      expect(await storeSet(...ids.map((deviceId) => ({ deviceId, metrics })))).toHaveLength(20);
    }
    expect(await indexBytes()).toBe(before);
  });
});
