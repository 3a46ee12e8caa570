import type { INestApplication } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { PurgeDeletedWebhooksJob } from './purge-deleted-webhooks.job.js';
import { PurgeRepository } from './purge.repository.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(120_000);

const HISTORY = 3_500;
const TABLES = ['delivery', 'attempt', 'dead_letter', 'request_shape', 'webhook_recovery'] as const;

describe('PurgeRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let organization: Organization;
  let repository: PurgeRepository;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start();
    repository = new PurgeRepository(app.get(WorkerDatabase));
    organization = await cluster.organization();
  });

  afterAll(() => cluster.close(), 30_000);

  const create = async () => (await createWebhook(app, organization, 'http://127.0.0.1:9/hook')).id;
  const remove = (id: string) => app.get(WebhooksService).delete(organizationCaller(organization), id);
  /** Inserts deliveries, each with an attempt and a dead letter, and what else a webhook may leave behind. */
  const addHistory = (webhookId: string, count = HISTORY) =>
    cluster.rows(
      `with added as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), now() - n * interval '1 minute', $1, $2, $3, 'device.online', 'e' || n, 6, 'failed'
         from generate_series(1, $4) n returning *
       ), attempts as (
         insert into attempt (delivery_id, created_at, partner_id, org_id, attempt, started_at)
         select id, created_at, partner_id, org_id, 1, created_at from added
       ), letters as (
         insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, attempts)
         select id, created_at, created_at, partner_id, org_id, webhook_id, event_type, event_id, 6 from added
       ), shapes as (
         insert into request_shape (id, webhook_id, partner_id, org_id, names, headers)
         values (gen_random_uuid(), $3, $1, $2, '{}', '[]')
       )
       insert into webhook_recovery (id, webhook_id, partner_id, org_id, after_created_at, after_id, until_created_at, until_id)
       values (gen_random_uuid(), $3, $1, $2, now(), gen_random_uuid(), now(), gen_random_uuid())`,
      [organization.partnerId, organization.orgId, webhookId, count],
    );
  const left = async () => {
    const counts = await Promise.all(
      TABLES.map((table) => cluster.rows<{ n: number }>(`select count(*)::int as n from ${table}`)),
    );
    return Object.fromEntries(TABLES.map((table, i) => [table, counts[i]?.[0]?.n]));
  };

  const age = (id: string) =>
    cluster.rows(`update deleted_webhook set deleted_at = now() - interval '61 s' where webhook_id = $1`, [id]);

  it('deletes a long history in chunks, which a request that deletes the webhook does not wait for', async () => {
    const [id, kept] = [await create(), await create()];
    await addHistory(id);
    await addHistory(kept, 1);
    // Nothing of the history can be deleted meanwhile.
    const client = await cluster.admin.connect();
    try {
      await client.query('begin');
      await client.query('lock table delivery, attempt in share mode');
      await remove(id);
      await expect(app.get(WebhooksService).get(organizationCaller(organization), id)).rejects.toMatchObject({
        status: 404,
      });
      expect((await left())['delivery']).toBe(HISTORY + 1);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await eventually(
      async () =>
        expect(await left()).toEqual({
          delivery: 1,
          attempt: 1,
          dead_letter: 1,
          request_shape: 1,
          webhook_recovery: 1,
        }),
      { timeoutMs: 60_000 },
    );
    await age(id);
    await app.get(PurgeDeletedWebhooksJob).run();
    await eventually(async () => expect(await repository.listDeleted()).toEqual([]));
  });

  it('lists deleted webhooks for a minute, and until their history is purged by a job or by hand', async () => {
    await cluster.stores.redis.stop();
    try {
      const id = await create();
      await addHistory(id, 1_500);
      await remove(id);
      expect(await repository.listDeleted()).toEqual([id]);
      let chunks = 0;
      while (await repository.purgeChunk(id)) chunks += 1;
      expect(chunks).toBeGreaterThanOrEqual(1);
      expect(await cluster.rows('select 1 from delivery where webhook_id = $1', [id])).toEqual([]);
      expect(await cluster.rows('select 1 from dead_letter where webhook_id = $1', [id])).toEqual([]);
      expect(await repository.listDeleted()).toEqual([id]);
      await repository.finish(id);
      expect(await repository.listDeleted()).toEqual([id]);
      await age(id);
      await repository.finish(id);
      expect(await repository.listDeleted()).toEqual([]);
    } finally {
      await cluster.stores.redis.start();
    }
  });
});
