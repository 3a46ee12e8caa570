import type { INestApplication } from '@nestjs/common';
import type { AccessSnapshot } from '@rmm/contracts';
import type { RetryPolicy } from '../src/sending/retry-delay.js';
import type { CreateWebhookDto } from '../src/webhooks/dto/create-webhook.dto.js';
import type { WebhookDto } from '../src/webhooks/dto/webhook.dto.js';
import { type ApiClient, createApiClient } from './api-client.js';
import { createWebhook, DispatcherTestCluster, type Organization } from './dispatcher-test-cluster.js';
import { FakeAccess } from './fake-access.js';
import { FakeReceiver } from './fake-receiver.js';

/** The dispatcher over HTTP, with users who authenticate and a receiver for their webhooks. */
export class DispatcherTestApp {
  /** Sends no token. */
  readonly anonymous: ApiClient;

  private constructor(
    readonly cluster: DispatcherTestCluster,
    readonly receiver: FakeReceiver,
    readonly app: INestApplication,
    readonly identity: FakeAccess,
  ) {
    this.anonymous = createApiClient(app);
  }

  /** @param changes  variables that differ from the defaults of `DispatcherTestCluster.env` */
  static async start(changes: Record<string, string> = {}): Promise<DispatcherTestApp> {
    const identity = new FakeAccess();
    const [cluster, receiver] = await Promise.all([DispatcherTestCluster.open(), FakeReceiver.start()]);
    const app = await cluster.start(changes, [identity.module()]);
    return new DispatcherTestApp(cluster, receiver, app, identity);
  }

  async stop(): Promise<void> {
    await this.receiver.stop();
    await this.cluster.close();
  }

  /** Starts another replica in addition to `app`; it accepts the same users. */
  startReplica(): Promise<INestApplication> {
    return this.cluster.start({}, [this.identity.module()]);
  }

  /** Creates a partner user with access to all organizations of the partner; reads and writes by default. */
  partner(partnerId: string, permissions?: AccessSnapshot['permissions']): ApiClient {
    return createApiClient(this.app, this.identity.partner(partnerId, permissions));
  }

  /** Creates a user of one organization; reads and writes by default. */
  member(organization: Organization, permissions?: AccessSnapshot['permissions']): ApiClient {
    return createApiClient(this.app, this.identity.member(organization, permissions));
  }

  /** Creates an operator of the platform, who has every permission. */
  operator(): ApiClient {
    return createApiClient(this.app, this.identity.operator());
  }

  /** Returns a valid body of `POST /webhooks` with the receiver's URL. */
  input(changes: object = {}): object {
    return { name: 'Hook', url: this.receiver.url, events: ['device.*'], ...changes };
  }

  /** Creates a webhook through the API. @returns its id */
  async create(by: ApiClient, changes: object = {}): Promise<string> {
    const { body } = await by.post('', this.input(changes)).expect(201);
    return (body as { id: string }).id;
  }

  /** Creates a webhook through the service, so that the limits of the API do not count it. */
  async webhook(
    organization: Organization,
    changes: Partial<CreateWebhookDto> = {},
    retryPolicy?: Partial<RetryPolicy>,
  ): Promise<WebhookDto> {
    const webhook = await createWebhook(this.app, organization, this.receiver.url, changes);
    if (retryPolicy) await this.cluster.setRetryPolicy(webhook.id, retryPolicy);
    return webhook;
  }
}
