import type { INestApplication } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { SubscriptionIndexService } from './subscription-index.service.js';

const URL_A = 'http://127.0.0.1:9/a';
/** All but intervals, by which jobs run. */
const REAL_TIMERS: FakeableAPI[] = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setTimeout',
  'clearTimeout',
];

const isAlertOf = (fields: unknown, webhookId: string): boolean => {
  const { alert, webhookId: id } = fields as { alert?: string; webhookId?: string };
  return alert === 'webhook_undecipherable' && id === webhookId;
};

describe('SubscriptionIndexService', () => {
  let cluster: DispatcherTestCluster;
  let here: INestApplication;
  let there: INestApplication;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    [here, there] = await Promise.all([cluster.start(), cluster.start()]);
  });

  beforeEach(async () => {
    organization = await cluster.organization();
  });

  afterAll(() => cluster.close(), 30_000);

  it('receives every change on every replica without any event', async () => {
    const caller = organizationCaller(organization);
    const index = there.get(SubscriptionIndexService);
    const webhook = await createWebhook(here, organization, URL_A);
    await eventually(() => expect(index.find(webhook.id)?.url).toBe(URL_A));
    await here.get(WebhooksService).update(caller, webhook.id, { url: 'http://127.0.0.1:9/b' });
    await eventually(() => expect(index.find(webhook.id)?.url).toBe('http://127.0.0.1:9/b'));
    await here.get(WebhooksService).update(caller, webhook.id, { status: 'paused' });
    await eventually(() => expect(index.find(webhook.id)).toBeNull());
    await here.get(WebhooksService).update(caller, webhook.id, { status: 'active' });
    await eventually(() => expect(index.find(webhook.id)).not.toBeNull());
    await here.get(WebhooksService).delete(caller, webhook.id);
    await eventually(() => expect(index.find(webhook.id)).toBeNull());
    expect(index.match(organization.orgId, 'device.online')).toEqual([]);
  });

  it('loads a change that commits after a later one was loaded', async () => {
    const index = here.get(SubscriptionIndexService);
    const id = '00000000-0000-4000-8000-000000000001';
    const slow = await cluster.admin.connect();
    try {
      await slow.query('begin');
      await slow.query(
        `insert into webhook (id, partner_id, org_id, name, url_sealed, events) values ($1, $2, $3, 'slow', $4, '{*}')`,
        [id, organization.partnerId, organization.orgId, here.get(WebhookSealingService).sealUrl(id, URL_A)],
      );
      const quick = await createWebhook(here, organization, URL_A);
      await index.refresh();
      expect(index.find(quick.id)).not.toBeNull();
      expect(index.find(id)).toBeNull();
      await slow.query('commit');
    } finally {
      slow.release();
    }
    await index.refresh();
    expect(index.find(id)).not.toBeNull();
    expect(index.match(organization.orgId, 'device.online')).toHaveLength(2);
  });

  it('contains what committed before a refresh, also when another refresh is running', async () => {
    const index = here.get(SubscriptionIndexService);
    for (let i = 0; i < 10; i += 1) {
      const underWay = index.refresh();
      const webhook = await createWebhook(there, organization, URL_A);
      await index.refresh();
      expect(index.find(webhook.id)).not.toBeNull();
      await underWay;
    }
  });

  it('contains no webhook that was deleted before a refresh, also when an older load is running', async () => {
    const index = here.get(SubscriptionIndexService);
    for (let i = 0; i < 10; i += 1) {
      const webhook = await createWebhook(there, organization, URL_A);
      const underWay = index.refresh();
      await there.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
      await index.refresh();
      expect(index.find(webhook.id)).toBeNull();
      await underWay;
      expect(index.find(webhook.id)).toBeNull();
    }
  });

  it('tries each minute to open a webhook that could not be opened, and says so', async () => {
    jest.useFakeTimers({ doNotFake: REAL_TIMERS });
    const errors = jest.spyOn(Logger.prototype, 'error');
    const app = await cluster.start();
    try {
      const index = app.get(SubscriptionIndexService);
      const opening = jest.spyOn(app.get(WebhookSealingService), 'openUrl').mockImplementation(() => {
        throw new Error('the key is missing');
      });
      const { id } = await createWebhook(here, organization, URL_A);
      await index.refresh();
      const alerts = () => errors.mock.calls.filter(([fields]) => isAlertOf(fields, id)).length;
      await index.refresh();
      const first = alerts();
      expect([index.find(id), first > 0]).toEqual([null, true]);
      // A minute that ends while the job still runs starts no other run.
      const afterMinutes = (check: () => void) =>
        eventually(() => {
          jest.advanceTimersByTime(60_000);
          check();
        });
      await afterMinutes(() => expect(alerts()).toBeGreaterThan(first));
      expect(index.mustWait(id)).toBe(true);
      opening.mockRestore();
      await afterMinutes(() => expect(index.find(id)?.url).toBe(URL_A));
      expect(index.mustWait(id)).toBe(false);
    } finally {
      await cluster.stop(app);
      errors.mockRestore();
      jest.useRealTimers();
    }
  });

  it('removes webhooks that were deleted without a trace', async () => {
    const index = here.get(SubscriptionIndexService);
    const webhook = await createWebhook(here, organization, URL_A);
    await index.refresh();
    await cluster.rows('delete from webhook where id = $1', [webhook.id]);
    await index.refresh();
    expect(index.find(webhook.id)).not.toBeNull();
    await index.removeDeleted();
    expect(index.find(webhook.id)).toBeNull();
  });
});
