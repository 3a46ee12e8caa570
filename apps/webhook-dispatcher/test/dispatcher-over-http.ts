import type { INestApplication } from '@nestjs/common';
import type { RetryPolicy } from '../src/sending/retry-delay.js';
import type { CreateWebhookDto } from '../src/webhooks/dto/create-webhook.dto.js';
import type { WebhookDto } from '../src/webhooks/dto/webhook.dto.js';
import { type Client, clientOf } from './client.js';
import { createWebhook, DispatcherWorld, type Organization } from './dispatcher.js';
import { Receiver } from './receiver.js';
import { SignedIn } from './signed-in.js';

/** The dispatcher as its callers see it: people who really sign in, and a receiver for their webhooks. */
export class DispatcherOverHttp {
  /** Somebody without a token. */
  readonly anonymous: Client;

  private constructor(
    readonly world: DispatcherWorld,
    readonly receiver: Receiver,
    readonly app: INestApplication,
    readonly signedIn: SignedIn,
  ) {
    this.anonymous = clientOf(app);
  }

  /** @param changes  variables that differ from those of every spec */
  static async start(changes: Record<string, string> = {}): Promise<DispatcherOverHttp> {
    const signedIn = new SignedIn();
    const [world, receiver] = await Promise.all([DispatcherWorld.open(), Receiver.start()]);
    const app = await world.start(changes, [signedIn.module()]);
    return new DispatcherOverHttp(world, receiver, app, signedIn);
  }

  async stop(): Promise<void> {
    await this.receiver.stop();
    await this.world.close();
  }

  /** Another replica beside `app`, which knows the same people. */
  replica(): Promise<INestApplication> {
    return this.world.start({}, [this.signedIn.module()]);
  }

  /** Somebody of a partner who reaches all its organizations; reads and writes unless said otherwise. */
  partner(partnerId: string, permissions?: string[]): Client {
    return clientOf(this.app, this.signedIn.partner(partnerId, permissions));
  }

  /** Somebody of one organization; reads and writes unless said otherwise. */
  member(organization: Organization, permissions?: string[]): Client {
    return clientOf(this.app, this.signedIn.member(organization, permissions));
  }

  /** An operator of the platform, who may do everything. */
  operator(): Client {
    return clientOf(this.app, this.signedIn.operator());
  }

  /** What `POST /webhooks` takes, with the receiver behind its URL. */
  input(changes: object = {}): object {
    return { name: 'Hook', url: this.receiver.url, events: ['device.*'], ...changes };
  }

  /** Makes a webhook through the API. @returns its id */
  async create(by: Client, changes: object = {}): Promise<string> {
    const { body } = await by.post('', this.input(changes)).expect(201);
    return (body as { id: string }).id;
  }

  /** Makes a webhook past the API, so that the limits of the API do not count it. */
  async webhook(
    of: Organization,
    changes: Partial<CreateWebhookDto> = {},
    retryPolicy?: Partial<RetryPolicy>,
  ): Promise<WebhookDto> {
    const webhook = await createWebhook(this.app, of, this.receiver.url, changes);
    if (retryPolicy) await this.world.setRetryPolicy(webhook.id, retryPolicy);
    return webhook;
  }
}
