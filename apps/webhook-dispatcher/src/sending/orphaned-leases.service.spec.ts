import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster, type Organization } from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { InstanceLeaseService } from './instance-lease.service.js';
import { OrphanedLeasesService } from './orphaned-leases.service.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('OrphanedLeasesService', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;
  let webhookId: string;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    receiver = await FakeReceiver.start();
    app = await cluster.start();
    organization = await cluster.organization();
    ({ id: webhookId } = await createWebhook(app, organization, receiver.url));
  }, 60_000);

  afterAll(async () => {
    await receiver.stop();
    await cluster.close();
  }, 30_000);

  /** Inserts a lease as a claim leaves it whose response was lost after the commit. */
  async function insertOrphan(): Promise<string> {
    const id = randomUUID();
    await cluster.rows(
      `with inserted as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts,
                               lease_owner)
         values ($1, date_trunc('milliseconds', now()), $2, $3, $4, 'device.online', $5, 6, $6) returning created_at
       ), counted as (
         update webhook_counter set total = total + 1 where webhook_id = $4
       )
       insert into event_body (event_id, created_at, partner_id, org_id, body)
       select $5, created_at, $2, $3, '{}' from inserted`,
      [id, organization.partnerId, organization.orgId, webhookId, randomUUID(), app.get(InstanceLeaseService).owner],
    );
    return id;
  }

  it('releases orphaned leases in the second run', async () => {
    const id = await insertOrphan();
    const orphans = app.get(OrphanedLeasesService);
    await orphans.reclaimOrphans();
    expect(receiver.requestsOf(id)).toEqual([]);
    await orphans.reclaimOrphans();
    await eventually(() => expect(receiver.requestsOf(id)).toHaveLength(1));
    await eventually(async () =>
      expect(await cluster.rows('select status, lease_owner from delivery where id = $1', [id])).toEqual([
        { status: 'delivered', lease_owner: null },
      ]),
    );
  });

  it('keeps leases that are queued, in flight, or have an unwritten outcome', async () => {
    let respondAll = (): void => undefined;
    receiver.received.length = 0;
    receiver.respond = (response) => {
      const before = respondAll;
      respondAll = () => {
        before();
        response.end();
      };
    };
    // More than the ten an origin gets at a time: some are under way and some wait.
    for (let i = 0; i < 15; i += 1) await cluster.emit(organization);
    await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(8));
    const orphans = app.get(OrphanedLeasesService);
    for (let i = 0; i < 3; i += 1) await orphans.reclaimOrphans();
    receiver.respond = (response) => response.end();
    respondAll();
    await eventually(async () => {
      const rows = await cluster.deliveries(webhookId);
      expect(rows.filter(({ status }) => status !== 'delivered')).toEqual([]);
      expect(rows).toHaveLength(16);
    });
    for (let i = 0; i < 3; i += 1) await orphans.reclaimOrphans();
    const ids = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(15);
  });

  it('runs with the sweeps', async () => {
    const id = await insertOrphan();
    await eventually(() => expect(receiver.requestsOf(id)).toHaveLength(1), { timeoutMs: 50_000 });
  });
});
