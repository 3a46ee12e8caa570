import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { createWebhook, DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { ClaimsRepository } from './claims.repository.js';
import { SweeperService } from './sweeper.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('ClaimsRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
    await app.get(SweeperService).stop();
  }, 60_000);

  afterAll(() => cluster.close(), 30_000);

  it('claims a requested delivery during a burst of older retries', async () => {
    const organization = await cluster.organization();
    const webhook = await createWebhook(app, organization, 'http://127.0.0.1:9/');
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt,
                             max_attempts, due_at)
       select gen_random_uuid(), now() - interval '1 hour', $1, $2, $3, 'device.enrolled', gen_random_uuid(), 'retrying',
              1, 6, now() - interval '1 minute'
         from generate_series(1, 5000)`,
      [organization.partnerId, organization.orgId, webhook.id],
    );
    const id = randomUUID();
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts)
       values ($1, now(), $2, $3, $4, 'webhook.test', gen_random_uuid(), 6)`,
      [id, organization.partnerId, organization.orgId, webhook.id],
    );
    const claims = app.get(ClaimsRepository);
    expect((await claims.claimDue('pending', 10)).map((delivery) => delivery.id)).toEqual([id]);
    expect(await claims.claimDue('pending', 10)).toEqual([]);
    const retries = await claims.claimDue('retrying', 7);
    expect(retries).toHaveLength(7);
    expect(retries.every(({ attempt }) => attempt === 1)).toBe(true);
    expect(await claims.claimDue('retrying', 7, 120_000)).toEqual([]);
  });
});
