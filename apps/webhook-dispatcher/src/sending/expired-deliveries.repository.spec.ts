import { randomUUID } from 'node:crypto';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import type { Organization } from '../../test/organizations.js';
import { ExpiredDeliveriesRepository } from './expired-deliveries.repository.js';

const DAY_SECONDS = 86_400;

describe('ExpiredDeliveriesRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: ExpiredDeliveriesRepository;
  let organization: Organization;
  let webhookId: string;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new ExpiredDeliveriesRepository(database.worker);
  }, 120_000);
  beforeEach(async () => {
    await database.rows('DELETE FROM delivery');
    organization = await database.organization();
    webhookId = await database.webhook(organization);
  });
  afterAll(() => database?.stop());

  const add = async (ageDays: number, { status = 'pending', webhook = webhookId } = {}) => {
    const id = randomUUID();
    await database.rows(
      `INSERT INTO delivery (id, created_at, due_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
       SELECT $1, at, at, $2, $3, $4, 'device.online', $5, 6, $6
       FROM (SELECT date_trunc('milliseconds', now() - make_interval(secs => $7))) AS time(at)`,
      [id, organization.partnerId, organization.orgId, webhook, randomUUID(), status, ageDays * DAY_SECONDS],
    );
    return id;
  };
  const listIds = async (limit = 10) =>
    (await repository.list(29, limit, null)).map(({ delivery, hasWebhook }) => [delivery.id, hasWebhook]);

  it('lists open rows that are older than some days, in pages', async () => {
    const ids = [await add(40), await add(35, { status: 'retrying' }), await add(30)];
    await add(28);
    await add(40, { status: 'failed' });
    expect(await listIds()).toEqual(ids.map((id) => [id, true]));
    const [first, second] = await repository.list(29, 2, null);
    expect([first?.delivery.id, second?.delivery.id]).toEqual(ids.slice(0, 2));
    const rest = await repository.list(29, 2, second?.position ?? null);
    expect(rest.map(({ delivery }) => delivery.id)).toEqual(ids.slice(2));
  });

  it('deletes the rows of webhooks that do not exist, and no others', async () => {
    const [kept, left] = [await add(40), await add(40, { webhook: randomUUID() })];
    const found = await repository.list(29, 10, null);
    expect(new Map(found.map(({ delivery, hasWebhook }) => [delivery.id, hasWebhook]))).toEqual(
      new Map([
        [kept, true],
        [left, false],
      ]),
    );
    await repository.deleteWithoutWebhook(found.map(({ delivery }) => delivery));
    expect(await listIds()).toEqual([[kept, true]]);
  });

  it('returns the age of the oldest open row, and 0 without any', async () => {
    await add(20, { status: 'delivered' });
    expect(await repository.findOldestAge(30)).toBe(0);
    for (const age of [1, 12, 45]) {
      await add(age);
      const seconds = await repository.findOldestAge(30);
      expect(Math.round(seconds / DAY_SECONDS)).toBe(age);
    }
  });
});
