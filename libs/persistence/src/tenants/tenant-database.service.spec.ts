import { randomUUID } from 'node:crypto';
import {
  as,
  PersistenceTestDatabase,
  noTenant,
  orgA1,
  orgA2,
  orgB1,
  organization,
  partner,
  partnerA,
  partnerB,
  platform,
  selected,
} from '../../test/persistence-test-database.js';
import type { HasTenant } from './tenant-context.js';

describe('TenantDatabase', () => {
  let fleet: PersistenceTestDatabase;

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start({ serviceMax: 1, workerMax: 1 });
  });
  afterAll(() => fleet.stop());

  const names = 'select name from device order by name';
  const throughRead = async (caller: HasTenant) => nameList(await fleet.tenants.read(caller, names));
  const throughRun = (caller: HasTenant) =>
    fleet.tenants.transaction(caller, async (tx) => nameList(await tx.query(names)));

  describe.each([
    ['read', throughRead],
    ['run', throughRun],
  ])('%s', (_name, devicesOf) => {
    it.each<[string, HasTenant, string[]]>([
      ['nothing without a context', noTenant, []],
      ['everything for the platform', platform, ['a1', 'a2', 'b1']],
      ['its own organizations for a partner', partner(partnerA), ['a1', 'a2']],
      ['nothing of another partner', partner(randomUUID()), []],
      ['the selected organizations only', selected(partnerA, [orgA2]), ['a2']],
      ['no selected organization of another partner', selected(partnerA, [orgB1, orgA1]), ['a1']],
      ['nothing for an empty selection', selected(partnerA, []), []],
      ['nothing for a partner member without access', as({ scope: 'partner', partnerId: partnerA }), []],
      ['its own organization for an organization caller', organization(partnerA, orgA1), ['a1']],
      ['nothing for a scope without its id', as({ scope: 'organization', partnerId: partnerA, orgAccess: 'all' }), []],
      [
        'nothing when the scope is none, whatever else is set',
        as({ partnerId: partnerA, orgId: orgA1, orgAccess: 'all' }),
        [],
      ],
    ])('shows %s', async (_what, caller, expected) => {
      expect(await devicesOf(caller)).toEqual(expected);
    });

    it('leaves no context for the next user of the connection', async () => {
      expect(await devicesOf(platform)).toHaveLength(3); // the pool has one connection
      expect(await devicesOf(noTenant)).toEqual([]);
      const { rows } = await fleet.databases.servicePool
        .query(`${names}; select current_setting('rmm.scope', true) as s`)
        .then(last);
      expect(rows).toEqual([{ s: '' }]);
    });

    it('refuses an id that contains SQL', async () => {
      const hostile = `${orgA1}","x'}'; drop table device; --`;
      await expect(devicesOf(selected(partnerA, [hostile]))).rejects.toThrow('is not a UUID');
      await expect(devicesOf(partner(`' or true --`))).rejects.toMatchObject({ code: '22P02' });
      expect(await devicesOf(platform)).toHaveLength(3);
    });
  });

  it('refuses a malformed id of a selection before any statement is sent', async () => {
    const before = fleet.gate.roundTrips();
    for (const malformed of ['', 'all', `${orgA1},${orgA2}`, `,${orgA1.slice(1)}`]) {
      const caller = selected(partnerA, [orgA1, malformed]);
      await expect(throughRead(caller)).rejects.toThrow('is not a UUID');
      await expect(throughRun(caller)).rejects.toThrow('is not a UUID');
    }
    expect(fleet.gate.roundTrips()).toBe(before);
    expect(await throughRead(partner(partnerA))).toEqual(['a1', 'a2']);
  });

  it('works with 1,000 selected organizations, whatever the case of their ids', async () => {
    const many = [...Array.from({ length: 999 }, () => randomUUID()), orgA1.toUpperCase()];
    expect(await throughRead(selected(partnerA, many))).toEqual(['a1']);
  });

  it('binds parameters of the query in addition to the context', async () => {
    const rows = await fleet.tenants.read(platform, 'select name from device where name = any ($1) and org_id <> $2', [
      ['a1', 'b1', `x' or true`],
      orgA1,
    ]);
    expect(rows).toEqual([{ name: 'b1' }]);
  });

  it('keeps the order of the query, its aggregates and common table expressions', async () => {
    const sql = `with mine as (select name, org_id from device) select name, count(*) over ()::int as total from mine order by name desc limit 2`;
    expect(await fleet.tenants.read(partner(partnerA), sql)).toEqual([
      { name: 'a2', total: 2 },
      { name: 'a1', total: 2 },
    ]);
  });

  it('reads in one round trip', async () => {
    const read = () => fleet.tenants.read(partner(partnerA), names);
    await read();
    const before = fleet.gate.roundTrips();
    await read();
    expect(fleet.gate.roundTrips() - before).toBe(1);
  });

  it('reads in one round trip also when the statement is new and when its plan is generic', async () => {
    const sql = `select name from device where name like $1`;
    const before = fleet.gate.roundTrips();
    expect(await fleet.tenants.read(partner(partnerA), sql, ['a%'])).toHaveLength(2);
    expect(fleet.gate.roundTrips() - before).toBe(1);
    for (let i = 0; i < 8; i++) {
      expect(await fleet.tenants.read(partner(partnerA), sql, ['%'])).toHaveLength(2);
      expect(await fleet.tenants.read(partner(partnerB), sql, ['%'])).toHaveLength(1);
      expect(await fleet.tenants.read(noTenant, sql, ['%'])).toHaveLength(0);
    }
  });

  it.each([
    ['prepares a statement for a short list', 100, 1],
    ['plans a statement for the values of a long list', 101, 0],
  ])('%s', async (_what, items, prepared) => {
    const caller = partner(partnerA);
    const list = ['a1', ...Array.from({ length: items - 1 }, () => randomUUID())];
    const sql = `select name from device where name = any($1) and ${items} > 0`;
    expect(await fleet.tenants.read(caller, sql, [list])).toEqual([{ name: 'a1' }]);
    const count = `select count(*)::int as count from pg_prepared_statements where statement like $1`;
    expect(await fleet.tenants.read(caller, count, [`%and ${items} > 0%`])).toEqual([{ count: prepared }]);
  });

  it('recovers when a migration changes the columns of a prepared statement', async () => {
    const vendors = () => fleet.tenants.read(noTenant, 'select * from vendor limit 0');
    await vendors();
    await fleet.admin('alter table provisioning.vendor add column city text');
    await expect(vendors()).resolves.toEqual([]);
    await expect(vendors()).resolves.toEqual([]);
    await fleet.admin('alter table provisioning.vendor drop column city');
    await expect(vendors()).resolves.toEqual([]);
  });

  it('uses one round trip to open a transaction, one per statement and one to commit', async () => {
    const before = fleet.gate.roundTrips();
    await fleet.tenants.transaction(partner(partnerA), (tx) => tx.query(names));
    expect(fleet.gate.roundTrips() - before).toBe(3);
  });

  describe('writing', () => {
    const insert = `insert into device (id, partner_id, org_id, name) values ($1, $2, $3, $4)`;
    const device = (partnerId: string, orgId: string) => [randomUUID(), partnerId, orgId, `new ${randomUUID()}`];
    const write = (caller: HasTenant, sql: string, params: unknown[]) =>
      fleet.tenants.transaction(caller, (tx) => tx.query(sql, params));

    it.each<[string, HasTenant, string, string]>([
      ['without a context', noTenant, partnerA, orgA1],
      ['for another partner', partner(partnerB), partnerA, orgA1],
      ['for an organization that is not selected', selected(partnerA, [orgA2]), partnerA, orgA1],
      ['for another organization of its partner', organization(partnerA, orgA2), partnerA, orgA1],
    ])('throws %s', async (_what, caller, partnerId, orgId) => {
      await expect(write(caller, insert, device(partnerId, orgId))).rejects.toMatchObject({ code: '42501' });
    });

    it('throws when a row would move to another tenant', async () => {
      const move = 'update device set org_id = $1 where name = $2 returning id';
      await expect(write(organization(partnerA, orgA1), move, [orgA2, 'a1'])).rejects.toMatchObject({ code: '42501' });
    });

    it('changes no rows of another tenant', async () => {
      const [row] = await fleet.tenants.read<{ id: string }>(platform, `select id from device where name = 'a1'`);
      for (const sql of [
        `update device set name = 'x' where id = $1 returning id`,
        'delete from device where id = $1 returning id',
      ]) {
        expect(await write(partner(partnerB), sql, [row.id])).toEqual([]);
      }
    });

    it('writes inside the tenant', async () => {
      const row = device(partnerA, orgA1);
      await write(selected(partnerA, [orgA1]), insert, row);
      expect(
        await write(organization(partnerA, orgA1), 'delete from device where id = $1 returning id', [row[0]]),
      ).toHaveLength(1);
    });

    it('is refused in a read', async () => {
      const sql = `with gone as (delete from device returning id) select id from gone`;
      await expect(fleet.tenants.read(platform, sql)).rejects.toMatchObject({ code: '0A000' });
    });
  });

  describe('ownership', () => {
    const add = (table: string, caller: HasTenant, values: Record<string, unknown>) => {
      const columns = Object.keys(values);
      const sql = `insert into ${table} (${columns.join()}) values (${columns.map((_, i) => `$${i + 1}`).join()})`;
      return fleet.tenants.transaction(caller, (tx) => tx.query(sql, Object.values(values)));
    };
    const list = (table: string, caller: HasTenant) => fleet.tenants.read(caller, `select id from ${table}`);

    it('partner: the partner only', async () => {
      const row = { id: randomUUID(), partner_id: partnerA, name: 'p' };
      await expect(add('principal', organization(partnerA, orgA1), row)).rejects.toMatchObject({ code: '42501' });
      await add('principal', partner(partnerA), row);
      expect(await list('principal', partner(partnerA))).toHaveLength(1);
      expect(await list('principal', partner(partnerB))).toHaveLength(0);
      expect(await list('principal', organization(partnerA, orgA1))).toHaveLength(0);
    });

    it('dual: organization callers read the partner-wide rows and write only their own', async () => {
      const wide = { id: randomUUID(), partner_id: partnerA, org_id: null, name: 'wide' };
      const own = { id: randomUUID(), partner_id: partnerA, org_id: orgA1, name: 'own' };
      await expect(add('script', organization(partnerA, orgA1), wide)).rejects.toMatchObject({ code: '42501' });
      await add('script', partner(partnerA), wide);
      await add('script', organization(partnerA, orgA1), own);
      expect(await list('script', organization(partnerA, orgA1))).toHaveLength(2);
      expect(await list('script', organization(partnerA, orgA2))).toEqual([{ id: wide.id }]);
      expect(await list('script', selected(partnerA, [orgA2]))).toEqual([{ id: wide.id }]);
      expect(await list('script', organization(partnerB, orgB1))).toHaveLength(0);
      const rename = `update script set name = 'x' returning id`;
      expect(await fleet.tenants.transaction(organization(partnerA, orgA2), (tx) => tx.query(rename))).toEqual([]);
    });

    it('user: the user only, not even the platform', async () => {
      const userId = randomUUID();
      const me = { ...partner(partnerA), tenant: { ...partner(partnerA).tenant, userId } };
      await add('factor', me, { id: randomUUID(), user_id: userId });
      await expect(add('factor', me, { id: randomUUID(), user_id: randomUUID() })).rejects.toMatchObject({
        code: '42501',
      });
      expect(await list('factor', me)).toHaveLength(1);
      expect(await list('factor', platform)).toHaveLength(0);
    });

    it('worker-only: the service inserts, the worker reads', async () => {
      const id = randomUUID();
      await add('message', noTenant, { id, body: 'x' });
      await expect(list('message', platform)).rejects.toMatchObject({ code: '42501' });
      expect(await fleet.worker.query('select id from message where id = $1', [id])).toEqual([{ id }]);
    });

    it('global: the service reads', async () => {
      await fleet.worker.query(`insert into vendor values ('acme')`);
      expect(await fleet.tenants.read(noTenant, 'select name from vendor')).toEqual([{ name: 'acme' }]);
      await expect(add('vendor', platform, { name: 'other' })).rejects.toMatchObject({ code: '42501' });
    });
  });

  describe('the service login', () => {
    const SETTINGS = ['scope', 'partner_id', 'org_id', 'org_access', 'org_ids', 'user_id'];
    /** Sets every setting by hand, as an injected statement could, and reads. */
    const devicesWith = async (settings: Record<string, string>) => {
      const client = await fleet.databases.servicePool.connect();
      try {
        await client.query('begin');
        for (const name of SETTINGS)
          await client.query('select set_config($1, $2, true)', [`rmm.${name}`, settings[name] ?? '']);
        return nameList((await client.query(names)).rows);
      } finally {
        await client.query('rollback');
        client.release();
      }
    };

    it('sees no row beyond the tenant of the settings, whatever they are, and none in system scope', async () => {
      const orgIds = [orgA1, orgA2, orgB1].map((id) => id.replaceAll('-', '')).join(',');
      const all = { org_access: 'all', org_ids: orgIds, user_id: randomUUID() };
      expect(await devicesWith({ ...all, scope: 'system' })).toEqual([]);
      expect(await devicesWith({ ...all, scope: 'system', partner_id: partnerA, org_id: orgA1 })).toEqual([]);
      expect(await devicesWith({ ...all, scope: 'SYSTEM', partner_id: partnerA })).toEqual([]);
      expect(await devicesWith({ ...all, scope: 'organization', partner_id: partnerB, org_id: orgA1 })).toEqual(['a1']);
      const selection = { ...all, scope: 'partner', org_access: 'selected', partner_id: partnerA };
      expect(await devicesWith(selection)).toEqual(['a1', 'a2']);
    });

    it.each([
      'set role rmm_test_provisioning_worker',
      'set session authorization rmm_test_provisioning_worker',
      'set role rmm_test_provisioning_owner',
    ])('may not %s', async (sql) => {
      await expect(fleet.databases.servicePool.query(sql)).rejects.toMatchObject({ code: '42501' });
    });

    it('has the platform login act in its role for platform administrators', async () => {
      const [row] = await fleet.tenants.read(
        platform,
        'select session_user::text as login, current_user::text as role',
      );
      expect(row).toEqual({ login: 'rmm_test_provisioning_worker', role: 'rmm_test_provisioning_service' });
    });
  });

  it('gives the worker all rows of the tables and commands granted to it only', async () => {
    expect(nameList(await fleet.worker.query(names))).toEqual(['a1', 'a2', 'b1']);
    await expect(fleet.worker.query('delete from device')).rejects.toMatchObject({ code: '42501' });
    await expect(fleet.worker.query('select * from principal')).rejects.toMatchObject({ code: '42501' });
  });
});

function nameList(rows: Record<string, unknown>[]): unknown[] {
  return rows.map((row) => row['name']);
}

/** Several statements in one text are answered with several results. */
function last<T>(results: T | T[]): T {
  return Array.isArray(results) ? results[results.length - 1] : results;
}
