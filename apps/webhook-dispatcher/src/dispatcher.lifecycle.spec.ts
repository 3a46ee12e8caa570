import type { INestApplication } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../test/dispatcher-test-cluster.js';
import { isSignedWith, FakeReceiver } from '../test/fake-receiver.js';
import type { UpdateWebhookDto } from './webhooks/dto/update-webhook.dto.js';
import type { WebhookDto } from './webhooks/dto/webhook.dto.js';
import { WebhooksService } from './webhooks/webhooks.service.js';

/** An attempt that has begun ends as it began; what was changed meanwhile counts from the next one on. */
describe('an attempt in flight', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;
  let webhook: WebhookDto;
  /** Ends the attempt in flight. */
  let respond: (status: number) => void;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
  });

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
    webhook = await createWebhook(app, organization, receiver.url, { secret: 'old' });
    const opened = new Promise<ServerResponse>((resolve) => {
      receiver.respond = resolve;
    });
    await cluster.emit(organization);
    const response = await opened;
    receiver.respond = (next) => next.end('second');
    respond = (status) => void response.writeHead(status).end('first');
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  const change = (dto: UpdateWebhookDto) =>
    app.get(WebhooksService).update(organizationCaller(organization), webhook.id, dto);
  const row = async () => (await cluster.deliveries(webhook.id))[0];
  const ends = (status: string, attempt: number) =>
    eventually(async () => expect(await row()).toMatchObject({ status, attempt }));

  it('of a webhook that is paused is delivered when it is answered', async () => {
    await change({ status: 'paused' });
    respond(204);
    await ends('delivered', 1);
    expect(receiver.received).toHaveLength(1);
  });

  it.each(['paused', 'failed'] as const)(
    'of a webhook that is %s and fails is not repeated, and is no dead letter',
    async (status) => {
      await change({ status });
      respond(503);
      await ends('failed', 1);
      expect(receiver.received).toHaveLength(1);
      expect(await row()).toMatchObject({ error_message: 'Webhook is not active' });
      expect(await cluster.rows('select 1 from dead_letter where webhook_id = $1', [webhook.id])).toEqual([]);
    },
  );

  it.each([200, 503])('of a webhook that is deleted leaves nothing behind, answered %d', async (status) => {
    await app.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
    respond(status);
    // The next delivery of the organization shows that the outcome before it has been dealt with.
    const other = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(other.id)).toMatchObject([{ status: 'delivered' }]));
    await eventually(async () => {
      for (const table of ['delivery', 'dead_letter']) {
        expect(await cluster.rows(`select 1 from ${table} where webhook_id = $1`, [webhook.id])).toEqual([]);
      }
      expect(await cluster.rows('select 1 from attempt where org_id = $1', [organization.orgId])).toEqual([]);
    });
    expect(receiver.received).toHaveLength(2);
  });

  it('of a webhook with a new URL and secret goes to the old one; the next attempt to the new one', async () => {
    const elsewhere = await FakeReceiver.start();
    try {
      await change({ url: elsewhere.url, secret: 'new' });
      respond(503);
      await ends('delivered', 2);
      const [first] = receiver.received;
      const [second] = elsewhere.received;
      if (!first || !second) throw new Error('an attempt is missing');
      expect(isSignedWith('old', first)).toBe(true);
      expect(isSignedWith('new', second)).toBe(true);
      expect(second.headers['x-service-delivery-id']).toBe(first.headers['x-service-delivery-id']);
      expect([receiver.received, elsewhere.received].map(({ length }) => length)).toEqual([1, 1]);
    } finally {
      await elsewhere.stop();
    }
  });

  it('of a webhook that is paused and set to active again is repeated like any other', async () => {
    await change({ status: 'paused' });
    await change({ status: 'active' });
    respond(503);
    await ends('delivered', 2);
  });
});
