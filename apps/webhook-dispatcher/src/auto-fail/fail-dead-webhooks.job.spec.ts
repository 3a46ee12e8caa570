import type { INestApplication } from '@nestjs/common';
import type { MailSendRequest } from '@rmm/contracts';
import { runInContext, UnavailableError, ValidationError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../../test/fake-receiver.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { WebhooksService } from '../webhooks/webhooks.service.js';
import { FailDeadWebhooksJob } from './fail-dead-webhooks.job.js';

describe('failing webhooks by themselves', () => {
  let cluster: DispatcherTestCluster;
  let apps: INestApplication[];
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;
  let mails: MailSendRequest[];

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    mails = cluster.collectMails();
    apps = await Promise.all([cluster.start(), cluster.start()]);
    [app] = apps as [INestApplication];
  });

  beforeEach(async () => {
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
    mails.length = 0;
  });

  afterEach(() => receiver.stop());
  afterAll(() => cluster.close(), 30_000);

  const status = async (id: string) =>
    (await app.get(WebhooksService).get(organizationCaller(organization), id)).status;
  const failingSince = async (id: string) =>
    (
      await cluster.rows<{ at: Date | null }>('select failing_since as at from webhook_counter where webhook_id = $1', [
        id,
      ])
    )[0]?.at;
  const oneRetry = (id: string) => cluster.setRetryPolicy(id, { maxRetries: 1, initialDelayMs: 50 });
  const age = (id: string, hours: number) =>
    cluster.rows(
      `update webhook_counter set failing_since = now() - make_interval(hours => $2) where webhook_id = $1`,
      [id, hours],
    );
  const failed = (id: string) =>
    eventually(async () => expect(await cluster.deliveries(id)).toMatchObject([{ status: 'failed' }]));

  it('notes the first failed attempt, and forgets it with a success', async () => {
    let isFailing = true;
    receiver.respond = (response) => response.writeHead(isFailing ? 500 : 200).end();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(async () => expect(await failingSince(webhook.id)).toBeInstanceOf(Date));
    const first = await failingSince(webhook.id);
    await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(2));
    await eventually(async () => expect((await cluster.deliveries(webhook.id))[0]?.attempt).toBeGreaterThanOrEqual(2));
    expect(await failingSince(webhook.id)).toEqual(first);
    isFailing = false;
    await eventually(async () => expect(await failingSince(webhook.id)).toBeNull());
  });

  it('fails a webhook after five days without success, once, and mails those who may act', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const webhook = await createWebhook(app, organization, receiver.url, { name: 'Tickets' });
    await oneRetry(webhook.id);
    await cluster.emit(organization);
    await failed(webhook.id);
    await age(webhook.id, 119);
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(webhook.id)).toBe('active');
    await age(webhook.id, 121);
    await Promise.all(
      apps.flatMap((replica) => [replica.get(FailDeadWebhooksJob).run(), replica.get(FailDeadWebhooksJob).run()]),
    );
    expect(await status(webhook.id)).toBe('failed');
    const rows = await eventually(() =>
      cluster.findAuditEntries(webhook.id).then((all) => {
        const own = all.filter(({ data }) => data.action === 'webhook.auto_failed');
        expect(own).toHaveLength(1);
        return own;
      }),
    );
    expect(rows[0]?.data).toMatchObject({
      actor: { type: 'system', id: null },
      resourceType: 'webhook',
      resourceName: 'Tickets',
      details: { reason: 'failing' },
    });
    await eventually(() => expect(mails.length).toBeGreaterThan(0));
    expect(new Set(mails.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(mails[0]).toMatchObject({
      to: [],
      audience: { ...organization, permission: 'organizations:write' },
      template: 'webhook-failed',
      values: {
        webhookName: 'Tickets',
        organizationName: 'Org',
        failingSince: expect.stringMatching(/^\d{4}-.* UTC$/),
      },
    });
    const sent = mails.length;
    await app.get(FailDeadWebhooksJob).run();
    expect(mails).toHaveLength(sent);
    // Every replica has received the broadcast: nothing is sent any more.
    const other = await createWebhook(app, organization, receiver.url);
    await cluster.emit(organization);
    await eventually(async () => expect(await cluster.deliveries(other.id)).toHaveLength(1));
    expect(await cluster.deliveries(webhook.id)).toHaveLength(1);
  });

  it('restarts the period when a user sets the webhook to active', async () => {
    receiver.respond = (response) => response.writeHead(500).end();
    const webhook = await createWebhook(app, organization, receiver.url);
    await oneRetry(webhook.id);
    await cluster.emit(organization);
    await failed(webhook.id);
    await age(webhook.id, 200);
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(webhook.id)).toBe('failed');
    await app.get(WebhooksService).update(organizationCaller(organization), webhook.id, { status: 'active' });
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(webhook.id)).toBe('active');
    expect(await failingSince(webhook.id)).toBeNull();
  });

  it('never fails a webhook that is being set to active', async () => {
    const caller = organizationCaller(organization);
    for (let i = 0; i < 10; i += 1) {
      const webhook = await createWebhook(app, organization, receiver.url);
      await age(webhook.id, 200);
      await app.get(FailDeadWebhooksJob).run();
      await age(webhook.id, 200);
      await Promise.all([
        app.get(WebhooksService).update(caller, webhook.id, { status: 'active' }),
        ...apps.map((replica) => replica.get(FailDeadWebhooksJob).run()),
      ]);
      expect(await status(webhook.id)).toBe('active');
    }
  });

  it('leaves paused webhooks alone', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    await age(webhook.id, 200);
    await app.get(WebhooksService).update(organizationCaller(organization), webhook.id, { status: 'paused' });
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(webhook.id)).toBe('paused');
  });

  it('fails a webhook whose delivery ends on 410, not one that answers 410 in between', async () => {
    receiver.respond = (response) => response.writeHead(receiver.received.length === 1 ? 410 : 500).end();
    const between = await createWebhook(app, organization, receiver.url);
    await oneRetry(between.id);
    await cluster.emit(organization);
    await failed(between.id);
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(between.id)).toBe('active');
    await app.get(WebhooksService).delete(organizationCaller(organization), between.id);

    receiver.respond = (response) => response.writeHead(410).end();
    const gone = await createWebhook(app, organization, receiver.url);
    await oneRetry(gone.id);
    await cluster.emit(organization);
    await failed(gone.id);
    expect(receiver.received).toHaveLength(4);
    await eventually(async () => expect(await status(gone.id)).toBe('failed'));
    await eventually(async () => {
      const rows = await cluster.findAuditEntries(gone.id);
      expect(rows.at(-1)?.data).toMatchObject({ action: 'webhook.auto_failed', details: { reason: 'gone' } });
    });
    await eventually(() => expect(mails).toHaveLength(1));
    await app.get(WebhooksService).update(organizationCaller(organization), gone.id, { status: 'active' });
    await app.get(FailDeadWebhooksJob).run();
    expect(await status(gone.id)).toBe('active');
  });

  it('records it without the origin of the request that had the delivery sent', async () => {
    receiver.respond = (response) => response.writeHead(410).end();
    const gone = await createWebhook(app, organization, receiver.url);
    await oneRetry(gone.id);
    const origin = { requestId: 'r-1', ipAddress: '192.0.2.1', userAgent: 'curl' };
    await runInContext({ ...origin }, () =>
      app.get(DeliveriesService).test(organizationCaller(organization), gone.id, { payload: {} }),
    );
    await eventually(async () => expect(await status(gone.id)).toBe('failed'));
    const entries = await eventually(async () => {
      const rows = await cluster.findAuditEntries(gone.id);
      expect(rows.at(-1)?.data.action).toBe('webhook.auto_failed');
      return rows.map(({ data }) => data);
    });
    expect(entries.find(({ action }) => action === 'webhook.test')).toMatchObject(origin);
    expect(entries.at(-1)).toMatchObject({ requestId: null, ipAddress: null, userAgent: null });
  });

  const isMailDue = async (webhookId: string) => {
    const [counter] = await cluster.rows<{ due: boolean }>(
      'select mail_due_for is not null as due from webhook_counter where webhook_id = $1',
      [webhookId],
    );
    return counter?.due;
  };

  it('mails in the next turn what it did not get to mail before, once', async () => {
    const webhook = await createWebhook(app, organization, receiver.url);
    const at = new Date(Date.now() - 3_600_000);
    await cluster.rows('update webhook_counter set failing_since = $2, mail_due_for = $2 where webhook_id = $1', [
      webhook.id,
      at,
    ]);
    const sent = [`webhook-failed:${webhook.id}:${at.toISOString()}`];
    await app.get(FailDeadWebhooksJob).run();
    await eventually(() => expect(mails.map(({ idempotencyKey }) => idempotencyKey)).toEqual(sent));
    await eventually(async () => expect(await isMailDue(webhook.id)).toBe(false));
    await app.get(FailDeadWebhooksJob).run();
    expect(mails).toHaveLength(1);
  });
});

describe('mails about failed webhooks', () => {
  const due = ['a', 'b'].map((id) => ({ id, failingSince: new Date(0), failedAt: new Date(0) }));

  /** Runs the job where identity responds to the mail about `a` with an error. @returns the webhooks whose mail was sent */
  async function sendAfter(error: Error): Promise<string[]> {
    const mailed: string[] = [];
    const repository = {
      failDeadWebhooks: () => Promise.resolve([]),
      listDueMails: () => Promise.resolve(due),
      markMailed: ({ id }: { id: string }) => Promise.resolve(mailed.push(id)),
    };
    const worker = { transaction: (work: (tx: object) => Promise<unknown>) => work({}) };
    const rpc = {
      call: (_: unknown, { idempotencyKey }: MailSendRequest) =>
        idempotencyKey.startsWith('webhook-failed:a:') ? Promise.reject(error) : Promise.resolve(),
    };
    const jobs = { register: jest.fn(), add: () => Promise.resolve(false) };
    const parts = [repository, worker, {}, {}, rpc, { autoFailAfterHours: 120 }, jobs, { warn: jest.fn() }];
    const job = new FailDeadWebhooksJob(...(parts as unknown as ConstructorParameters<typeof FailDeadWebhooksJob>));
    await job.run().catch((reason: unknown) => expect(reason).toBeInstanceOf(UnavailableError));
    return mailed;
  }

  it('are sent after one that identity refuses', async () => {
    expect(await sendAfter(new ValidationError('refused'))).toEqual(['b']);
  });

  it('are not tried one by one while identity cannot be reached', async () => {
    expect(await sendAfter(new UnavailableError())).toEqual([]);
  });
});
