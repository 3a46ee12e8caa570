import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { TenantTransaction } from '@rmm/persistence';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { organizationCaller, type Organization, partnerCaller } from '../../test/organizations.js';
import { WebhookNotFound } from './webhook.errors.js';
import { WebhooksRepository } from './webhooks.repository.js';

describe('WebhooksRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: WebhooksRepository;
  let mine: Organization;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new WebhooksRepository(database.tenants);
  }, 120_000);
  beforeEach(async () => {
    mine = await database.organization();
  });
  afterAll(() => database?.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, as = mine) =>
    database.tenants.transaction(organizationCaller(as), work);
  const create = (name = 'Hook') =>
    run((tx) =>
      repository.create(tx, {
        ...{ id: randomUUID(), ...mine, createdBy: null, name, urlSealed: 'sealed', events: ['device.*'] },
      }),
    );
  const countersOf = (id: string) =>
    database.rows('SELECT failing_since FROM webhook_counter WHERE webhook_id = $1', [id]);

  it('stores a webhook with its counter', async () => {
    const created = await create();
    expect(created).toMatchObject({
      ...mine,
      name: 'Hook',
      status: 'active',
      secretSealed: null,
      lastDeliveryAt: null,
    });
    expect(Number(created.total)).toBe(0);
    expect(await repository.get(organizationCaller(mine), created.id)).toEqual(created);
  });

  it('lists the webhooks of an organization by status, newest first', async () => {
    const [old, recent, paused] = [await create('Old'), await create('New'), await create('Paused')];
    await database.rows(`UPDATE webhook SET created_at = now() - INTERVAL '1 hour' WHERE id = $1`, [old.id]);
    await database.rows(
      `UPDATE webhook SET created_at = now() + INTERVAL '1 hour', status = 'disabled' WHERE id = $1`,
      [paused.id],
    );
    await database.webhook(await database.organization(mine.partnerId));
    const list = async (status?: 'active', page = 1, limit = 10) => {
      const request = { orgId: mine.orgId, status, page: { page, limit } };
      return (await repository.list(organizationCaller(mine), request)).rows.map(({ id }) => id);
    };
    expect(await list()).toEqual([paused.id, recent.id, old.id]);
    expect(await list('active')).toEqual([recent.id, old.id]);
    expect(await list('active', 2, 1)).toEqual([old.id]);
  });

  it('reads, locks, changes and deletes no webhook of another organization', async () => {
    const stored = await create();
    for (const stranger of [await database.organization(mine.partnerId), await database.organization()]) {
      const page = { orgId: mine.orgId, page: { page: 1, limit: 10 } };
      expect((await repository.list(organizationCaller(stranger), page)).rows).toEqual([]);
      await expect(repository.get(organizationCaller(stranger), stored.id)).rejects.toThrow(WebhookNotFound);
      await expect(run((tx) => repository.lock(tx, stored.id), stranger)).rejects.toThrow(WebhookNotFound);
      const rename = run((tx) => repository.change(tx, stored, { name: 'Taken' }), stranger);
      await expect(rename).rejects.toThrow(WebhookNotFound);
      expect(await run((tx) => repository.countForLimit(tx, mine), stranger)).toBe(0);
    }
    expect(await repository.get(organizationCaller(mine), stored.id)).toMatchObject({ name: 'Hook' });
  });

  it('changes the given columns and keeps the counts', async () => {
    const { id } = await create();
    await database.rows('UPDATE webhook_counter SET total = 7 WHERE webhook_id = $1', [id]);
    const changed = await run(async (tx) => repository.change(tx, await repository.lock(tx, id), { name: 'Renamed' }));
    expect([changed.name, changed.urlSealed, Number(changed.total)]).toEqual(['Renamed', 'sealed', 7]);
  });

  it('restarts the period of failures', async () => {
    const { id } = await create();
    await database.rows('UPDATE webhook_counter SET failing_since = now() WHERE webhook_id = $1', [id]);
    await run((tx) => repository.resetFailingSince(tx, id));
    expect(await countersOf(id)).toEqual([{ failing_since: null }]);
  });

  it('makes concurrent creations in an organization wait for each other, so that each counts the others', async () => {
    const counts = await Promise.all(
      Array.from({ length: 4 }, () =>
        run(async (tx) => {
          const count = await repository.countForLimit(tx, mine);
          const webhook = {
            id: randomUUID(),
            ...mine,
            createdBy: null,
            name: 'Hook',
            urlSealed: 's',
            events: ['device.*'],
          };
          await repository.create(tx, webhook);
          return count;
        }),
      ),
    );
    expect(counts.sort((a, b) => a - b)).toEqual([0, 1, 2, 3]);
  });

  it('reads the dead letters of no other day than that of the newest when it deletes a webhook', async () => {
    const { id } = await create();
    await database.rows(`SELECT rmm_maintain_partitions_at(now() - INTERVAL '3 days')`);
    await database.rows(
      `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       SELECT gen_random_uuid(), now() - (n % 3) * INTERVAL '1 day', now(), $1, $2, $3, 'device.online', 'e', 6
       FROM generate_series(1, 9000) n`,
      [mine.partnerId, mine.orgId, id],
    );
    await database.rows('ANALYZE dead_letter');
    const countScannedRows = async () => {
      const [{ n }] = await database.rows<{ n: number }>(
        `SELECT sum(seq_tup_read)::int AS n FROM pg_stat_user_tables
         WHERE relname ~ '^dead_letter_p' AND relname < 'dead_letter_p' || to_char(now() - INTERVAL '1 hour', 'YYYYMMDD')`,
      );
      return n;
    };
    const before = await countScannedRows();
    await run(async (tx) => {
      await repository.deleteWebhook(tx, await repository.lock(tx, id));
      await tx.query('SELECT pg_stat_force_next_flush()::text');
    });
    expect((await countScannedRows()) - before).toBe(0);
  });

  it('deletes a webhook with its newest dead letters, and lists it for the purge', async () => {
    const [stored, other] = [await create(), await create()];
    for (const { id } of [stored, other]) {
      await database.rows(
        `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
         VALUES (gen_random_uuid(), now(), now(), $1, $2, $3, 'device.online', 'e', 6)`,
        [mine.partnerId, mine.orgId, id],
      );
    }
    await run(async (tx) => repository.deleteWebhook(tx, await repository.lock(tx, stored.id)));
    await expect(repository.get(organizationCaller(mine), stored.id)).rejects.toThrow(WebhookNotFound);
    expect(await countersOf(stored.id)).toEqual([]);
    const ids = (sql: string) => database.rows(sql, [[stored.id, other.id]]);
    expect(await ids('SELECT webhook_id AS id FROM dead_letter WHERE webhook_id = ANY ($1)')).toEqual([
      { id: other.id },
    ]);
    expect(await ids('SELECT webhook_id AS id FROM deleted_webhook WHERE webhook_id = ANY ($1)')).toEqual([
      { id: stored.id },
    ]);
  });

  describe('a webhook of the partner', () => {
    const TABLES = ['webhook', 'webhook_counter', 'delivery', 'attempt', 'event_body', 'dead_letter', 'request_shape'];
    let id: string;

    beforeEach(async () => {
      const { partnerId } = mine;
      const webhook = { id: randomUUID(), partnerId, orgId: null, createdBy: null };
      const settings = { name: 'Hook', urlSealed: 'sealed', events: ['*'] };
      const created = await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
        repository.create(tx, { ...webhook, ...settings }),
      );
      id = created.id;
      await database.rows(
        `WITH d AS (
           INSERT INTO delivery (id, created_at, partner_id, event_org_id, webhook_id, event_type, event_id, max_attempts)
           VALUES (gen_random_uuid(), now(), $1, $2, $3, 'device.online', gen_random_uuid(), 6) RETURNING *),
         a AS (
           INSERT INTO attempt (delivery_id, created_at, attempt, partner_id, started_at)
           SELECT id, created_at, 1, partner_id, now() FROM d),
         b AS (
           INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
           SELECT event_id, created_at, partner_id, partner_id, '{}' FROM d),
         s AS (
           INSERT INTO request_shape (id, webhook_id, partner_id, names, headers)
           VALUES (gen_random_uuid(), $3, $1, '{}', '{}'))
         INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, event_org_id, webhook_id, event_type, event_id, attempts)
         SELECT id, now(), created_at, partner_id, event_org_id, webhook_id, event_type, event_id, 6 FROM d`,
        [partnerId, mine.orgId, id],
      );
    });

    const countVisible = async (caller: UserCaller) => {
      const sql = TABLES.map((table) => `SELECT count(*)::int AS n FROM ${table} WHERE partner_id = :partnerId`);
      const rows = await database.tenants.read<{ n: number }>(caller, sql.join(' UNION ALL '), {
        partnerId: mine.partnerId,
      });
      return rows.map(({ n }) => n);
    };

    it('is visible with its history to callers with access to all organizations of the partner', async () => {
      expect(await countVisible(partnerCaller(mine.partnerId))).toEqual(TABLES.map(() => 1));
      expect(await repository.get(partnerCaller(mine.partnerId), id, 'partner')).toMatchObject({ id, orgId: null });
    });

    it.each([
      ['an organization of the partner', () => organizationCaller(mine)],
      ['selected organizations of the partner', () => partnerCaller(mine.partnerId, [mine.orgId])],
      ['another partner', () => partnerCaller(randomUUID())],
    ])('is hidden with its history from callers of %s', async (_, callerOf) => {
      expect(await countVisible(callerOf())).toEqual(TABLES.map(() => 0));
      await expect(repository.get(callerOf(), id, 'partner')).rejects.toThrow(WebhookNotFound);
    });

    it.each([
      ['an organization', () => organizationCaller(mine)],
      ['selected organizations', () => partnerCaller(mine.partnerId, [mine.orgId])],
    ])('cannot be created by callers of %s', async (_, callerOf) => {
      const webhook = { id: randomUUID(), partnerId: mine.partnerId, orgId: null, createdBy: null };
      const created = database.tenants.transaction(callerOf(), (tx) =>
        repository.create(tx, { ...webhook, name: 'Hook', urlSealed: 'sealed', events: ['*'] }),
      );
      await expect(created).rejects.toThrow(/row-level security/);
    });

    it('does not exist for the scope of organizations, nor a webhook of an organization for the other', async () => {
      const caller = partnerCaller(mine.partnerId);
      await expect(repository.get(caller, id)).rejects.toThrow(WebhookNotFound);
      const ofOrganization = await create();
      await expect(repository.get(caller, ofOrganization.id, 'partner')).rejects.toThrow(WebhookNotFound);
      const listed = await repository.list(caller, { orgId: null, page: { page: 1, limit: 10 } });
      expect(listed.rows.map((row) => row.id)).toEqual([id]);
    });
  });
});
