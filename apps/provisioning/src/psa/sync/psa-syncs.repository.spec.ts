import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
} from '../../../test/provisioning-test-database.js';
import type { SyncResult } from './psa-sync.entity.js';
import { PsaSyncsRepository, type PsaSyncClaim } from './psa-syncs.repository.js';

const RESULT: SyncResult = {
  outcome: 'success',
  fetched: 3,
  proposed: 1,
  imported: 0,
  renamed: 0,
  truncationReason: null,
  runId: null,
  error: null,
};

describe('PsaSyncsRepository', () => {
  let database: ProvisioningTestDatabase;
  let syncs: PsaSyncsRepository;
  let partnerId: string;
  let caller: UserCaller;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    syncs = new PsaSyncsRepository(database.tenants, database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    await database.admin.query('DELETE FROM psa_connection');
    partnerId = randomUUID();
    caller = partnerCaller(partnerId);
  });

  const inTransaction = <T>(work: Parameters<typeof database.tenants.transaction<T>>[1], as = caller) =>
    database.tenants.transaction(as, work);

  /** A connection with a sync, due since some minutes. @param minutes  null for one that is not enabled */
  async function insert(minutes: number | null = 1, owner = partnerId, status = 'active'): Promise<string> {
    const id = randomUUID();
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key, status) VALUES ($1, $2, 'zendesk', 'n', 'n', $3)`,
      [id, owner, status],
    );
    await database.admin.query(
      `INSERT INTO psa_sync (connection_id, partner_id, enabled, rule, interval_minutes, next_run_at)
       VALUES ($1, $2, $3::int IS NOT NULL, 'propose', 60, now() - make_interval(mins => $3))`,
      [id, owner, minutes],
    );
    return id;
  }
  const claimed = async () => (await syncs.claim())?.connectionId;
  const age = (id: string, column: string, value: string) =>
    database.admin.query(`UPDATE psa_sync SET ${column} = ${value} WHERE connection_id = $1`, [id]);

  it('leases what is due for the longest time, once, and one of a partner at a time', async () => {
    const [first, second] = [await insert(3), await insert(2)];
    const other = await insert(1, randomUUID());
    await insert(-5, randomUUID());
    await insert(null, randomUUID());
    await insert(9, randomUUID(), 'paused');
    expect(await claimed()).toBe(first);
    expect(await claimed()).toBe(other);
    expect(await claimed()).toBeUndefined();
    await age(first, 'next_run_at', `now() + interval '1 hour'`);
    await age(first, 'leased_until', `now() - interval '1 second'`);
    expect(await claimed()).toBe(second);
  });

  it('lists syncs that disabled themselves until their mail is sent, again when they do so again', async () => {
    const [id] = [await insert(null), await insert(null), await insert(1)];
    await age(id, 'disabled_reason', `'credentials'`);
    await age(id, 'last_run_at', `now() - interval '1 hour'`);
    const [sync, ...others] = await syncs.listUnmailed(10);
    expect(others).toEqual([]);
    expect(sync).toMatchObject({
      connectionId: id,
      partnerId,
      name: 'n',
      provider: 'zendesk',
      lastRunAt: expect.any(Date),
    });
    await age(id, 'last_run_at', 'now()'); // it ran and disabled itself once more, meanwhile
    await syncs.markMailed(sync);
    const [again] = await syncs.listUnmailed(10);
    expect(again?.connectionId).toBe(id);
    await syncs.markMailed(again);
    expect(await syncs.listUnmailed(10)).toEqual([]);
  });

  it('gives concurrent replicas different runs', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => insert(1, randomUUID())));
    const claims = await Promise.all(Array.from({ length: 8 }, claimed));
    const found = claims.filter((id) => id !== undefined);
    expect(new Set(found).size).toBe(found.length);
    const rest: string[] = [];
    for (let id = await claimed(); id !== undefined; id = await claimed()) rest.push(id);
    expect([...found, ...rest].sort()).toEqual([...ids].sort());
  });

  it('leases again after a release or the end of a lease, with another id', async () => {
    const id = await insert();
    const first = (await syncs.claim()) as PsaSyncClaim;
    expect(first).toMatchObject({ connectionId: id, partnerId, rule: 'propose', intervalMinutes: 60, failures: 0 });
    await syncs.release({ ...first, leaseId: randomUUID() });
    expect(await claimed()).toBeUndefined();
    await syncs.release(first);
    const second = (await syncs.claim()) as PsaSyncClaim;
    expect(second.leaseId).not.toBe(first.leaseId);
    await age(id, 'leased_until', `now() - interval '1 second'`);
    const third = (await syncs.claim()) as PsaSyncClaim;
    expect(await inTransaction((tx) => syncs.lockLeased(tx, second))).toBe(false);
    expect(await inTransaction((tx) => syncs.lockLeased(tx, third))).toBe(true);
  });

  it('stores a result, plans the next run and ends the lease; a lost lease changes nothing', async () => {
    const id = await insert();
    const claim = (await syncs.claim()) as PsaSyncClaim;
    const end = { result: RESULT, failures: 2, credentialFailures: 1, nextInSeconds: 3_600 };
    await inTransaction((tx) => syncs.finish(tx, { ...claim, leaseId: randomUUID() }, end));
    expect((await syncs.find(caller, id))?.lastResult).toBeNull();
    await inTransaction((tx) => syncs.finish(tx, claim, end));
    const row = await syncs.find(caller, id);
    expect(row).toMatchObject({ lastResult: RESULT, failures: 2, credentialFailures: 1, leaseId: null, enabled: true });
    const waitMs = Number(row?.nextRunAt) - Number(row?.lastRunAt);
    expect(waitMs).toBe(3_600_000);
  });

  it('disables a sync without a next run', async () => {
    const id = await insert();
    const claim = (await syncs.claim()) as PsaSyncClaim;
    const end = { result: RESULT, failures: 5, credentialFailures: 5, nextInSeconds: null };
    await inTransaction((tx) => syncs.finish(tx, claim, end));
    expect(await syncs.find(caller, id)).toMatchObject({
      enabled: false,
      nextRunAt: null,
      disabledReason: 'credentials',
    });
    expect(await inTransaction((tx) => syncs.scheduleNow(tx, id))).toBeNull();
  });

  it('runs at once when it is enabled, sooner with a shorter interval, and forgets failures', async () => {
    const id = await insert(null);
    const settings = { connectionId: id, partnerId, enabled: true, rule: 'import' as const, configuredBy: null };
    const save = (intervalMinutes: number, enabled = true) =>
      inTransaction((tx) => syncs.save(tx, { ...settings, intervalMinutes, enabled }));
    await age(id, 'failures', '3');
    const enabled = await save(1_440);
    expect(enabled).toMatchObject({ enabled: true, rule: 'import', intervalMinutes: 1_440, failures: 0 });
    expect(Number(enabled.nextRunAt)).toBe(Number(enabled.configuredAt));
    await age(id, 'next_run_at', `now() + interval '1 day'`);
    const sooner = await save(120);
    expect(Number(sooner.nextRunAt) - Number(sooner.configuredAt)).toBe(7_200_000);
    expect(await save(60, false)).toMatchObject({ enabled: false, nextRunAt: null });
  });

  it('is seen by callers with access to the whole partner alone', async () => {
    const id = await insert();
    const orgId = await database.createOrganization(partnerId);
    const selected = partnerCaller(partnerId);
    Object.assign(selected.tenant, { orgAccess: 'selected', orgIds: [orgId] });
    for (const as of [partnerCaller(randomUUID()), organizationCaller(partnerId, orgId), selected]) {
      expect(await syncs.find(as, id)).toBeNull();
      expect(await inTransaction((tx) => syncs.scheduleNow(tx, id), as)).toBeNull();
    }
    expect(await syncs.find(caller, id)).not.toBeNull();
  });

  it('knows an undone import of the sync since it was configured', async () => {
    const id = await insert();
    const claim = (await syncs.claim()) as PsaSyncClaim;
    const run = (source: string, state: string, createdAt: string) =>
      database.admin.query(
        `INSERT INTO import_run (partner_id, kind, source, connection_id, state, created_at)
         VALUES ($1, 'organizations', $2, $3, $4, ${createdAt})`,
        [partnerId, source, id, state],
      );
    await run('psa_sync', 'completed', `now() + interval '1 second'`);
    await run('psa', 'undone', `now() + interval '1 second'`);
    await run('psa_sync', 'undone', `now() - interval '1 day'`);
    expect(await syncs.hasUndoneImport(caller, claim)).toBe(false);
    await run('psa_sync', 'undoing', `now() + interval '1 second'`);
    expect(await syncs.hasUndoneImport(caller, claim)).toBe(true);
    await inTransaction((tx) => syncs.changeToPropose(tx, claim));
    expect((await syncs.find(caller, id))?.rule).toBe('propose');
  });
});
