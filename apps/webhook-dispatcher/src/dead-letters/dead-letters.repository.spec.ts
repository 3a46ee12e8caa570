import { randomUUID } from 'node:crypto';
import { Cursors, InvalidCursor, type KeysetRows, type TenantTransaction } from '@rmm/persistence';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { organizationCaller, type Organization } from '../../test/organizations.js';
import type { DeadLetter } from './dead-letter.entity.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';
import { DeadLettersRepository } from './dead-letters.repository.js';

describe('DeadLettersRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: DeadLettersRepository;
  let mine: Organization;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new DeadLettersRepository(database.tenants, new Cursors('k'.repeat(32)));
  }, 120_000);
  beforeEach(async () => {
    mine = await database.organization();
  });
  afterAll(() => database?.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, as = mine) =>
    database.tenants.transaction(organizationCaller(as), work);
  const add = async (minutesAgo = 0, webhookId: string = randomUUID(), of = mine) => {
    const deliveryId = randomUUID();
    await database.rows(
      `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       VALUES ($1, now() - make_interval(mins => $2), now(), $3, $4, $5, 'device.online', 'e', 6)`,
      [deliveryId, minutesAgo, of.partnerId, of.orgId, webhookId],
    );
    return deliveryId;
  };
  const scope = 'organization';
  const idOf = ({ deliveryId }: DeadLetter) => deliveryId;
  const list = async (filter: { orgId?: string; webhookId?: string } = {}, as = mine, page = 1, limit = 10) =>
    (await repository.list(organizationCaller(as), { ...filter, scope }, { page, limit })).rows.map(idOf);
  const listAfter = (cursor: string, filter: { webhookId?: string } = {}, limit = 2) =>
    repository.listAfter(organizationCaller(mine), { ...filter, scope }, { cursor, limit });

  it('lists dead letters newest first, by webhook and page', async () => {
    const webhookId = randomUUID();
    const [old, recent, other] = [await add(60, webhookId), await add(1, webhookId), await add(30)];
    expect(await list()).toEqual([recent, other, old]);
    expect(await list({ webhookId })).toEqual([recent, old]);
    expect(await list({ orgId: mine.orgId }, mine, 2, 2)).toEqual([old]);
  });

  it('reads them after a cursor, each once, also those that failed at one time', async () => {
    const webhookId = randomUUID();
    await database.rows(
      `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       SELECT gen_random_uuid(), now() - (n / 2) * interval '1 minute', now(), $1, $2, $3, 'device.online', 'e', 6
         FROM generate_series(1, 5) n`,
      [mine.partnerId, mine.orgId, webhookId],
    );
    const expected = await list({ webhookId });
    const other = await add(1);
    const pages: KeysetRows<DeadLetter>[] = [];
    for (let cursor: string | null | undefined = ''; typeof cursor === 'string'; cursor = pages.at(-1)?.nextCursor) {
      pages.push(await listAfter(cursor, { webhookId }));
    }
    expect(pages.map(({ rows }) => rows.length)).toEqual([2, 2, 1]);
    expect(pages.flatMap(({ rows }) => rows.map(idOf))).toEqual(expected);
    expect((await listAfter('', {}, 10)).rows.map(idOf)).toContain(other);
    await expect(listAfter(pages[0]?.nextCursor ?? '')).rejects.toThrow(InvalidCursor);
  });

  it('refuses numbered pages behind 10,000 dead letters, and returns those behind fewer empty', async () => {
    expect(await list({}, mine, 1_000_000, 100)).toEqual([]);
    const webhookId = randomUUID();
    await database.rows(
      `INSERT INTO dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
       SELECT gen_random_uuid(), now() - n * interval '1 minute', now(), $1, $2, $3, 'device.online', 'e', 6
         FROM generate_series(1, 10001) n`,
      [mine.partnerId, mine.orgId, webhookId],
    );
    expect(await list({ webhookId }, mine, 100, 100)).toHaveLength(100);
    const beyond = { status: 400, fieldErrors: { page: [expect.stringContaining('`cursor`')] } };
    await expect(list({ webhookId }, mine, 101, 100)).rejects.toMatchObject(beyond);
  });

  it('shows and deletes no dead letter of another organization', async () => {
    const id = await add();
    for (const stranger of [await database.organization(mine.partnerId), await database.organization()]) {
      expect(await list({ orgId: mine.orgId }, stranger)).toEqual([]);
      await expect(run((tx) => repository.get(tx, id), stranger)).rejects.toThrow(DeadLetterNotFound);
      expect(await run((tx) => repository.remove(tx, id), stranger)).toBe(false);
    }
    expect(await run((tx) => repository.get(tx, id))).toMatchObject({ deliveryId: id, attempts: 6 });
  });

  it('deletes a dead letter for one of two concurrent calls', async () => {
    const id = await add();
    const removed = await Promise.all([1, 2].map(() => run((tx) => repository.remove(tx, id))));
    expect(removed.sort()).toEqual([false, true]);
    await expect(run((tx) => repository.get(tx, id))).rejects.toThrow(DeadLetterNotFound);
  });
});
