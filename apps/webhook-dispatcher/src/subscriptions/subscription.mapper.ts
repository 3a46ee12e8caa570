import { partitionOf } from '../replicas/partition-of.js';
import { type SigningKeys, signingKeys } from '../sending/delivery-request.js';
import { readRetryPolicy, type RetryPolicy } from '../sending/retry-delay.js';
import { coveredTypes } from '../webhooks/event-catalog.constants.js';
import { sendableHeaders, type WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import type { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { ownerOf, type Webhook } from '../webhooks/webhook.entity.js';

/** An active webhook with its secrets opened, created once per version of its row. */
export interface Subscription {
  readonly webhookId: string;
  readonly partnerId: string;
  /** The organization; the partner for its own webhooks. @see ownerOf */
  readonly orgId: string;
  readonly types: ReadonlySet<string>;
  readonly url: string;
  /** Scheme, host and port; concurrency is limited per origin. */
  readonly origin: string;
  /** The partition of the organization. */
  readonly partition: number;
  readonly secret: SigningKeys | null;
  /** The secret before a rotation; it signs attempts that start before `untilMs` as well. */
  readonly previousSecret: (SigningKeys & { readonly untilMs: number }) | null;
  /** Adds the headers of Standard Webhooks. */
  readonly standardWebhooks: boolean;
  /** Custom headers that may be sent. */
  readonly headers: readonly WebhookHeader[];
  /** All custom headers, values sealed as they are stored. */
  readonly sealedHeaders: readonly WebhookHeader[];
  readonly retryPolicy: RetryPolicy;
}

/** The properties of a webhook that its deliveries need; known also when its URL or secret cannot be opened. */
export type Subscriber = Pick<
  Subscription,
  'webhookId' | 'partnerId' | 'orgId' | 'partition' | 'types' | 'retryPolicy'
>;

/** The columns of a webhook that sending needs. */
export type SubscriptionRow = Pick<
  Webhook,
  | 'id'
  | 'partnerId'
  | 'orgId'
  | 'urlSealed'
  | 'secretSealed'
  | 'previousSecretSealed'
  | 'secretOverlapUntil'
  | 'standardWebhooks'
  | 'headers'
  | 'events'
  | 'status'
  | 'retryPolicy'
>;

/** @throws UnsealFailed  when a sealed part cannot be opened; TypeError when the URL does not parse */
export function openSubscription(row: SubscriptionRow, sealing: WebhookSealingService, nowMs: number): Subscription {
  const url = sealing.openUrl(row.id, row.urlSealed);
  return {
    ...toSubscriber(row),
    url,
    origin: originOf(url),
    secret: row.secretSealed === null ? null : openSigningKeys(row, row.secretSealed, sealing),
    previousSecret: openPreviousKeys(row, sealing, nowMs),
    standardWebhooks: row.standardWebhooks,
    headers: sendableHeaders(sealing.openHeaders(row.id, row.headers)),
    sealedHeaders: row.headers,
  };
}

/** Returns what needs no key. */
export const toSubscriber = (row: SubscriptionRow): Subscriber => ({
  webhookId: row.id,
  partnerId: row.partnerId,
  orgId: ownerOf(row),
  partition: partitionOf(ownerOf(row)),
  types: coveredTypes(row.events),
  retryPolicy: readRetryPolicy(row.retryPolicy),
});

/** Returns scheme, host without a final dot, and port. @throws TypeError when the text is no URL */
const originOf = (url: string): string => new URL(url).origin.replace(/\.(?=(:\d+)?$)/, '');

const openSigningKeys = (
  { id, standardWebhooks }: SubscriptionRow,
  sealed: string,
  sealing: WebhookSealingService,
): SigningKeys => signingKeys(sealing.openSecret(id, sealed), standardWebhooks);

/** Does not open a secret whose overlap has ended: its key may be gone, and the webhook works without it. */
function openPreviousKeys(
  row: SubscriptionRow,
  sealing: WebhookSealingService,
  nowMs: number,
): Subscription['previousSecret'] {
  const { previousSecretSealed: sealed, secretOverlapUntil: until } = row;
  if (sealed === null || until === null || until.getTime() <= nowMs) return null;
  return { ...openSigningKeys(row, sealed, sealing), untilMs: until.getTime() };
}
