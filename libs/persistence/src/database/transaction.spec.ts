import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { RequestDeadline, RequestExpired, runInContext } from '@rmm/service-kit';
import {
  Device,
  PersistenceTestDatabase,
  noTenant,
  orgA1,
  partner,
  partnerA,
  platform,
} from '../../test/persistence-test-database.js';
import {
  DatabaseConnectionLost,
  DatabaseTooBusy,
  isUniqueViolation,
  TransactionWasAborted,
} from './database.errors.js';
import type { SqlExecutor } from './sql-executor.js';

describe('transaction', () => {
  let fleet: PersistenceTestDatabase;
  const me = partner(partnerA);

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start({ serviceMax: 1, workerMax: 1 });
  });
  afterAll(() => fleet.stop());

  const add = (tx: SqlExecutor, name: string) =>
    tx.query('insert into device (id, partner_id, org_id, name) values ($1, $2, $3, $4)', [
      randomUUID(),
      partnerA,
      orgA1,
      name,
    ]);
  const count = async (name: string) =>
    (await fleet.admin('select 1 from provisioning.device where name = $1', [name])).length;

  it('commits the work and returns its result', async () => {
    expect(await fleet.tenants.transaction(me, (tx) => add(tx, 'kept').then(() => 42))).toBe(42);
    expect(await count('kept')).toBe(1);
  });

  it('rolls back when the work throws, and rethrows', async () => {
    const mistake = new Error('changed my mind');
    const work = fleet.tenants.transaction(me, async (tx) => {
      await add(tx, 'undone');
      throw mistake;
    });
    await expect(work).rejects.toBe(mistake);
    expect(await count('undone')).toBe(0);
  });

  it('leaves a usable connection after a failed statement', async () => {
    await expect(fleet.tenants.transaction(me, (tx) => tx.query('select 1/0'))).rejects.toMatchObject({
      code: '22012',
    });
    await expect(fleet.tenants.read(me, 'select 1/0 as x')).rejects.toMatchObject({ code: '22012' });
    await expect(fleet.worker.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    expect(fleet.databases.servicePool.totalCount).toBe(1);
    expect(await fleet.tenants.read(me, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('destroys a connection with outdated plans, and the next one works', async () => {
    const all = 'select * from provisioning.device where org_id = $1';
    const inside = () => fleet.tenants.transaction(me, (tx) => tx.query(all, [orgA1]));
    const single = () => fleet.worker.query('select * from provisioning.device where partner_id = $1', [partnerA]);
    for (const ask of [inside, single]) {
      await ask();
      await fleet.admin('alter table provisioning.device add column outdated text');
      await expect(ask()).rejects.toBeInstanceOf(DatabaseConnectionLost);
      expect(await ask()).toBeInstanceOf(Array);
      await fleet.admin('alter table provisioning.device drop column outdated');
    }
  });

  it('throws when the error of a statement was swallowed', async () => {
    const work = fleet.tenants.transaction(me, async (tx) => {
      await add(tx, 'pretended');
      await tx.query('select 1/0').catch(() => undefined);
    });
    await expect(work).rejects.toThrow(TransactionWasAborted);
    expect(await count('pretended')).toBe(0);
  });

  it('detects a violated unique key by name', async () => {
    const twice = fleet.tenants.transaction(me, async (tx) => {
      await add(tx, 'twin');
      await add(tx, 'twin');
    });
    const error: unknown = await twice.catch((e: unknown) => e);
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, 'device_org_id_name_key')).toBe(true);
    expect(isUniqueViolation(error, 'other_key')).toBe(false);
    const viaTypeOrm = fleet.tenants.transaction(me, async (tx) => {
      const row = { id: randomUUID(), partnerId: partnerA, orgId: orgA1, name: 'kept' };
      await tx.repository(Device).insert(row);
    });
    expect(isUniqueViolation(await viaTypeOrm.catch((e: unknown) => e), 'device_org_id_name_key')).toBe(true);
  });

  it('includes TypeORM: same client, same context, same commit', async () => {
    const name = 'by an entity';
    const work = fleet.tenants.transaction(me, async (tx) => {
      const devices = tx.repository(Device);
      await devices.save(devices.create({ id: randomUUID(), partnerId: partnerA, orgId: orgA1, name }));
      expect(await tx.query('select 1 from device where name = $1', [name])).toHaveLength(1);
      expect(await devices.countBy({ name })).toBe(1);
      throw new Error('undo');
    });
    await expect(work).rejects.toThrow('undo');
    expect(await count(name)).toBe(0);
    expect(await fleet.tenants.transaction(noTenant, (tx) => tx.repository(Device).count())).toBe(0);
    expect(await fleet.worker.transaction((tx) => tx.repository(Device).countBy({ name: 'a1' }))).toBe(1);
  });

  it("treats TypeORM's own transaction() as a savepoint", async () => {
    await fleet.tenants.transaction(me, async (tx) => {
      await add(tx, 'outer');
      const inner = tx.manager.transaction(async (manager) => {
        await manager.insert(Device, { id: randomUUID(), partnerId: partnerA, orgId: orgA1, name: 'inner' });
        throw new Error('inner only');
      });
      await expect(inner).rejects.toThrow('inner only');
    });
    expect([await count('outer'), await count('inner')]).toEqual([1, 0]);
  });

  it('rolls back to a savepoint', async () => {
    await fleet.tenants.transaction(me, async (tx) => {
      await add(tx, 'before');
      const failing = tx.savepoint(async () => {
        await add(tx, 'within');
        await tx.query('select 1/0');
      });
      await expect(failing).rejects.toMatchObject({ code: '22012' });
      await tx.savepoint(() => add(tx, 'after'));
    });
    expect([await count('before'), await count('within'), await count('after')]).toEqual([1, 0, 1]);
  });

  it('runs callbacks after the commit, with the connection released', async () => {
    const seen: unknown[] = [];
    await fleet.tenants.transaction(me, async (tx) => {
      tx.afterCommit(async () => void seen.push(await count('announced')));
      tx.afterCommit(async () => void seen.push((await fleet.tenants.read(me, 'select 1 as one')).length));
      await add(tx, 'announced');
    });
    expect(seen).toEqual([1, 1]);
  });

  it('runs no callback after a rollback, also of a savepoint', async () => {
    const called: string[] = [];
    const failed = fleet.tenants.transaction(me, async (tx) => {
      tx.afterCommit(() => void called.push('rolled back'));
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    await fleet.tenants.transaction(me, async (tx) => {
      tx.afterCommit(() => void called.push('kept'));
      const undone = tx.savepoint(async () => {
        tx.afterCommit(() => void called.push('undone'));
        throw new Error('no');
      });
      await undone.catch(() => undefined);
    });
    expect(called).toEqual(['kept']);
  });

  it('stays committed when a callback fails, and runs the next one', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    let called = false;
    const work = fleet.tenants.transaction(me, async (tx) => {
      tx.afterCommit(() => {
        throw new Error('the listener is ill');
      });
      tx.afterCommit(() => void (called = true));
      return 'done';
    });
    await expect(work).resolves.toBe('done');
    expect(called).toBe(true);
    expect(logged).toHaveBeenCalledTimes(1);
    logged.mockRestore();
  });

  it('refuses a second connection of the same pool inside', async () => {
    const inside = (open: () => Promise<unknown>) => fleet.tenants.transaction(me, () => open());
    await expect(inside(() => fleet.tenants.transaction(me, async () => 1))).rejects.toThrow('use the `tx`');
    await expect(inside(() => fleet.tenants.read(me, 'select 1'))).rejects.toThrow('use the `tx`');
    await expect(fleet.worker.transaction(() => fleet.worker.query('select 1'))).rejects.toThrow('use the `tx`');
  });

  it('allows a connection of the other login inside', async () => {
    const rows = await fleet.tenants.transaction(platform, () =>
      fleet.worker.transaction((tx) => tx.query('select 1 as one')),
    );
    expect(rows).toEqual([{ one: 1 }]);
  });

  describe('for a request with a time limit', () => {
    const inRequest = <T>(timeoutMs: number, work: (deadline: RequestDeadline) => Promise<T>) => {
      const deadline = new RequestDeadline(timeoutMs);
      return runInContext({ requestId: 'r', deadline }, () => work(deadline));
    };

    it('is rolled back when the request was answered as too late before COMMIT', async () => {
      const late = inRequest(5_000, (deadline) =>
        fleet.tenants.transaction(me, async (tx) => {
          await add(tx, 'too late');
          deadline.expire();
        }),
      );
      await expect(late).rejects.toBeInstanceOf(RequestExpired);
      expect(await count('too late')).toBe(0);
      expect(await fleet.tenants.read(me, 'select 1 as one')).toEqual([{ one: 1 }]);
    });

    it('is not begun afterwards, by either login', async () => {
      await inRequest(5_000, async (deadline) => {
        deadline.expire();
        const work = jest.fn();
        await expect(fleet.tenants.transaction(me, work)).rejects.toBeInstanceOf(RequestExpired);
        await expect(fleet.worker.transaction(work)).rejects.toBeInstanceOf(RequestExpired);
        expect(work).not.toHaveBeenCalled();
      });
    });

    it('keeps the request from being answered as too late once COMMIT is sent', async () => {
      await inRequest(5_000, async (deadline) => {
        await fleet.tenants.transaction(me, (tx) => add(tx, 'in time'));
        expect(deadline.expire()).toBe(false);
      });
      expect(await count('in time')).toBe(1);
    });

    it('ends a statement that would outlast the request', async () => {
      const slow = inRequest(500, () => fleet.tenants.transaction(me, (tx) => tx.query('select pg_sleep(5)')));
      await expect(slow).rejects.toBeInstanceOf(DatabaseTooBusy);
      const limit = () => fleet.tenants.transaction(me, (tx) => tx.query('show statement_timeout'));
      expect(await limit()).toEqual([{ statement_timeout: '10s' }]);
    });
  });

  it('refuses statements once it has ended', async () => {
    const escaped = await fleet.tenants.transaction(me, async (tx) => ({ tx }));
    await expect(escaped.tx.query('select 1')).rejects.toThrow('has ended');
    expect(() => escaped.tx.manager).toThrow('has ended');
  });
});
