import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../../test/provisioning-test-database.js';
import { DeviceStatesRepository } from './device-states.repository.js';

const OFFLINE_AFTER_SECONDS = 300;

describe('DeviceStatesRepository', () => {
  let database: ProvisioningTestDatabase;
  let states: DeviceStatesRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    states = new DeviceStatesRepository(database.worker);
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000);
  const create = (lastSeenSeconds: number, values: Record<string, unknown> = {}) =>
    database.createDevice(partnerId, orgId, {
      last_seen_at: secondsAgo(lastSeenSeconds),
      offline_check_at: secondsAgo(1),
      ...values,
    });
  const claim = (limit = 100) => states.claimSilent(OFFLINE_AFTER_SECONDS, limit);
  const stateOf = async (id: string) =>
    (await database.admin.query('SELECT * FROM device_state WHERE device_id = $1', [id])).rows[0];

  it('sets a silent device offline once, and gives one with a heartbeat since a new deadline', async () => {
    const silent = await create(400, { hostname: 'silent', display_name: 'Silent' });
    const seen = await create(100);
    const inMaintenance = await create(400, { status: 'maintenance' });
    const notDue = await create(400, { offline_check_at: new Date(Date.now() + 60_000) });

    const found = await claim();
    expect(found.silent).toEqual([
      {
        ...{ checked: expect.any(Number), deviceId: silent, orgId, partnerId, hostname: 'silent' },
        ...{ displayName: 'Silent', lastSeenAt: expect.any(Date), version: '2' },
      },
    ]);
    expect(await stateOf(silent)).toMatchObject({ status: 'offline', offline_check_at: null });
    const state = await stateOf(seen);
    expect(state.status).toBe('online');
    expect(state.offline_check_at.getTime() - state.last_seen_at.getTime()).toBe(OFFLINE_AFTER_SECONDS * 1_000);
    expect(await stateOf(inMaintenance)).toMatchObject({ status: 'maintenance', offline_check_at: null });
    expect((await stateOf(notDue)).status).toBe('online');
    expect((await claim()).silent).toEqual([]);
  });

  it('checks a limited number at a time', async () => {
    for (let n = 0; n < 5; n += 1) await create(400);
    const sizes: number[] = [];
    do sizes.push((await claim(2)).checked);
    while (sizes.at(-1) === 2);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5);
  });

  it('gives each silent device to one of several sweeps', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) ids.push(await create(400));
    const found = await Promise.all(Array.from({ length: 10 }, () => claim(10)));
    while ((await claim(10)).checked > 0);
    const claimed = found.flatMap(({ silent }) => silent.map(({ deviceId }) => deviceId));
    expect(new Set(claimed).size).toBe(claimed.length);
    for (const id of ids) expect((await stateOf(id)).status).toBe('offline');
  });

  it('uses an index', async () => {
    const plan = await database.admin.connect();
    try {
      await plan.query('SET enable_seqscan = off');
      const { rows } = await plan.query(
        'EXPLAIN SELECT device_id FROM device_state WHERE offline_check_at <= now() ORDER BY offline_check_at LIMIT 1',
      );
      expect(JSON.stringify(rows)).toContain('device_state_offline_idx');
    } finally {
      plan.release();
    }
  });
});
