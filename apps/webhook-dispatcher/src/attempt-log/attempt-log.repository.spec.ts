import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { TenantDatabase } from '@rmm/persistence';
import { DispatcherTestCluster, organizationCaller, type Organization } from '../../test/dispatcher-test-cluster.js';
import { DeliveryNotFound } from '../deliveries/delivery.errors.js';
import { AttemptLogRepository } from './attempt-log.repository.js';

describe('AttemptLogRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let repository: AttemptLogRepository;
  let mine: Organization;
  let other: Organization;
  const webhookId = randomUUID();

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start();
    repository = new AttemptLogRepository(app.get(TenantDatabase, { strict: false }));
    [mine, other] = [await cluster.organization(), await cluster.organization()];
  });
  afterAll(() => cluster.close(), 30_000);

  /** Inserts a delivery whose first attempts failed with 500, 501, ...; the last one is in its own row. */
  const insert = async (status: string, attempts: number, { startedAt = true, shape = null as string | null } = {}) => {
    const id = randomUUID();
    await cluster.rows(
      `with added as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status,
                               attempt, started_at, response_status, request_shape, due_at)
         values ($1, date_trunc('milliseconds', now()), $2, $3, $4, 'device.online', 'e', 6, $5, $6, case when $7 then now() end, 204, $8,
                 now() + interval '1 day')
         returning *
       )
       insert into attempt (delivery_id, created_at, partner_id, org_id, attempt, started_at, response_status)
       select id, created_at, partner_id, org_id, n, now() - make_interval(secs => 60 - n), 499 + n
       from added, generate_series(1, $6 - 1) n`,
      [id, mine.partnerId, mine.orgId, webhookId, status, attempts, startedAt, shape],
    );
    return id;
  };
  const attemptsOf = async (id: string, { page = 1, limit = 10, as = mine } = {}) => {
    const caller = organizationCaller(as);
    const delivery = await repository.getDelivery(caller, webhookId, id);
    const { rows, total } = await repository.listAttempts(caller, delivery, { page, limit });
    return { total, shown: rows.map(({ attempt, outcome, responseStatus }) => [attempt, outcome, responseStatus]) };
  };

  it.each(['delivered', 'failed'])(
    'lists former attempts and the last one of a delivery that is %s',
    async (status) => {
      expect(await attemptsOf(await insert(status, 3))).toEqual({
        total: 3,
        shown: [
          [1, 'retrying', 500],
          [2, 'retrying', 501],
          [3, status, 204],
        ],
      });
    },
  );

  it('lists no attempt in the row of an open delivery, nor of one that ended without an attempt', async () => {
    expect(await attemptsOf(await insert('retrying', 2))).toEqual({ total: 1, shown: [[1, 'retrying', 500]] });
    expect(await attemptsOf(await insert('failed', 1, { startedAt: false }))).toEqual({ total: 0, shown: [] });
  });

  it('pages in the order of attempts over both tables', async () => {
    const id = await insert('failed', 5);
    expect((await attemptsOf(id, { page: 2, limit: 2 })).shown).toEqual([
      [3, 'retrying', 502],
      [4, 'retrying', 503],
    ]);
    expect(await attemptsOf(id, { page: 3, limit: 2 })).toEqual({ total: 5, shown: [[5, 'failed', 204]] });
  });

  it('shows an attempt whose shape is not stored without headers', async () => {
    const caller = organizationCaller(mine);
    const delivery = await repository.getDelivery(
      caller,
      webhookId,
      await insert('delivered', 1, { shape: randomUUID() }),
    );
    const { rows } = await repository.listAttempts(caller, delivery, { page: 1, limit: 10 });
    expect(rows).toMatchObject([{ attempt: 1, names: null, headers: null }]);
  });

  it('finds no delivery of another tenant or webhook', async () => {
    const id = await insert('delivered', 1);
    await expect(repository.getDelivery(organizationCaller(other), webhookId, id)).rejects.toThrow(DeliveryNotFound);
    await expect(repository.getDelivery(organizationCaller(mine), randomUUID(), id)).rejects.toThrow(DeliveryNotFound);
    const delivery = await repository.getDelivery(organizationCaller(mine), webhookId, id);
    const foreign = await repository.listAttempts(organizationCaller(other), delivery, { page: 1, limit: 10 });
    expect(foreign).toEqual({ rows: [], total: 0 });
  });
});
