import { UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { PersistenceTestDatabase, partner, partnerA } from '../../test/persistence-test-database.js';
import { DatabaseConnectionLost, DatabaseTooBusy } from './database.errors.js';

const QUICKLY_MS = 3_000;

describe('database outage', () => {
  let fleet: PersistenceTestDatabase;
  const me = partner(partnerA);
  const read = () => fleet.tenants.read(me, 'select name from device order by name');
  /** Ends the connections that hang, which the pool would offer to the next test. */
  const closeConnections = async () => {
    await fleet.gate.shut();
    await fleet.gate.open();
    expect(await eventually(read)).toHaveLength(2);
  };

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start(undefined, { acquireMs: 1_500, statementMs: 1_000 });
  });
  afterEach(() => fleet.gate.open());
  afterAll(() => fleet.stop());

  it('throws 503 quickly for each executor, and recovers', async () => {
    expect(await read()).toHaveLength(2);
    await fleet.gate.shut();
    const started = performance.now();
    for (const use of [
      read,
      () => fleet.tenants.transaction(me, (tx) => tx.query('select 1')),
      () => fleet.worker.query('select 1'),
      () => fleet.worker.transaction((tx) => tx.query('select 1')),
    ]) {
      const error: unknown = await use().catch((e: unknown) => e);
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({ status: 503, code: 'service_unavailable', retryAfterSeconds: 1 });
    }
    expect(performance.now() - started).toBeLessThan(QUICKLY_MS);
    await fleet.gate.open();
    expect(await eventually(read)).toHaveLength(2);
  });

  it('fails a transaction whose connection breaks, and never uses that connection again', async () => {
    let callbacks = 0;
    const work = fleet.tenants.transaction(me, async (tx) => {
      tx.afterCommit(() => void callbacks++);
      await tx.query('select 1');
      await fleet.gate.shut();
      await tx.query('select 1');
    });
    await expect(work).rejects.toThrow(DatabaseConnectionLost);
    expect(callbacks).toBe(0);
    await fleet.gate.open();
    expect(await eventually(read)).toHaveLength(2);
  });

  it('throws DatabaseConnectionLost also through TypeORM and when the work swallows the error', async () => {
    const viaTypeOrm = fleet.tenants.transaction(me, async (tx) => {
      const { manager } = tx;
      await fleet.gate.shut();
      await manager.query('select 1');
    });
    await expect(viaTypeOrm).rejects.toThrow(DatabaseConnectionLost);
    await fleet.gate.open();
    await eventually(read);
    const swallowed = fleet.tenants.transaction(me, async (tx) => {
      await fleet.gate.shut();
      await tx.query('select 1').catch(() => undefined);
    });
    await expect(swallowed).rejects.toThrow(DatabaseConnectionLost);
  });

  it('recovers when the server closes every connection', async () => {
    await eventually(read);
    const work = fleet.tenants.transaction(me, async (tx) => {
      await fleet.admin(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename like 'rmm\\_test%' and datname = current_database()`,
      );
      await tx.query('select 1');
    });
    await expect(work).rejects.toThrow(DatabaseConnectionLost);
    expect(await eventually(read)).toHaveLength(2);
  });

  it('throws 503 when a statement takes too long, and keeps the connection', async () => {
    const work = fleet.tenants.transaction(me, async (tx) => {
      await tx.query('select pg_sleep(30)');
    });
    await expect(work).rejects.toThrow(DatabaseTooBusy);
    expect(await read()).toHaveLength(2);
  });

  it('throws when the server hangs, and recovers with it', async () => {
    await read();
    fleet.gate.stall();
    const started = performance.now();
    await expect(read()).rejects.toThrow(DatabaseConnectionLost);
    expect(performance.now() - started).toBeLessThan(4_500);
    await closeConnections();
  });

  it('recovers from a server that was replaced without closing its connections', async () => {
    await Promise.all([read(), read(), read()]);
    fleet.gate.replace();
    await expect(read()).rejects.toThrow(DatabaseConnectionLost);
    expect(await eventually(read, { timeoutMs: 30_000 })).toHaveLength(2);
    await closeConnections();
  });

  it('closes a session whose server was replaced without closing it', async () => {
    const session = await fleet.worker.openSession('spec');
    await session.query('select 1');
    fleet.gate.replace();
    await expect(session.query('select 1')).rejects.toThrow(DatabaseConnectionLost);
    expect(session.isLost).toBe(true);
    await session.close();
    const next = await fleet.worker.openSession('spec');
    expect(await next.query('select 1 AS one')).toEqual([{ one: 1 }]);
    await next.close();
    await closeConnections();
  });

  it('sets time limits for statements, locks and idle transactions', async () => {
    const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const sql = 'select name, setting::int as ms from pg_settings where name = any ($1) order by name';
    const expected = [
      { name: 'idle_in_transaction_session_timeout', ms: 30_000 },
      { name: 'lock_timeout', ms: 5_000 },
      { name: 'statement_timeout', ms: 1_000 },
    ];
    expect(await fleet.tenants.read(me, sql, [settings])).toEqual(expected);
    expect(await fleet.worker.query(sql, [settings])).toEqual(expected);
  });

  it('throws 503 when all connections are in use for too long', async () => {
    const release: (() => void)[] = [];
    const lockers = [1, 2, 3].map(() =>
      fleet.tenants.transaction(me, () => new Promise<void>((resolve) => release.push(resolve))),
    );
    await eventually(() => expect(release).toHaveLength(3));
    await expect(read()).rejects.toThrow(DatabaseConnectionLost);
    for (const go of release) go();
    await Promise.all(lockers);
    expect(await read()).toHaveLength(2);
  });
});
