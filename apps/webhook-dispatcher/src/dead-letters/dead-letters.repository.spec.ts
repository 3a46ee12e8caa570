import { randomUUID } from 'node:crypto';
import type { TenantTransaction } from '@rmm/persistence';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { organizationCaller, type Organization } from '../../test/organizations.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';
import { DeadLettersRepository } from './dead-letters.repository.js';

describe('DeadLettersRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: DeadLettersRepository;
  let mine: Organization;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new DeadLettersRepository(database.tenants);
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
  const list = async (filter: { orgId?: string; webhookId?: string } = {}, as = mine, page = 1, limit = 10) =>
    (await repository.list(organizationCaller(as), filter, { page, limit })).rows.map(({ deliveryId }) => deliveryId);

  it('lists dead letters newest first, by webhook and page', async () => {
    const webhookId = randomUUID();
    const [old, recent, other] = [await add(60, webhookId), await add(1, webhookId), await add(30)];
    expect(await list()).toEqual([recent, other, old]);
    expect(await list({ webhookId })).toEqual([recent, old]);
    expect(await list({ orgId: mine.orgId }, mine, 2, 2)).toEqual([old]);
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
