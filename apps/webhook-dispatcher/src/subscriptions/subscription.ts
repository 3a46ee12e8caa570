import { coveredTypes } from '../webhooks/event-patterns.js';
import { sendableHeaders, type WebhookHeader } from '../webhooks/webhook-headers.js';
import type { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { readRetryPolicy, type RetryPolicy } from '../sending/retry-delay.js';
import { originOf, shardOf } from '../sending/shards/shard-of.js';
import { type SigningKeys, signingKeys } from '../sending/sign-body.js';

/** An active webhook, opened and ready to send: made once per version of its row. */
export interface Subscription {
  readonly webhookId: string;
  readonly partnerId: string;
  readonly orgId: string;
  readonly types: ReadonlySet<string>;
  readonly url: string;
  /** Scheme, host and port: what concurrency is capped by. */
  readonly origin: string;
  readonly shard: number;
  readonly secret: SigningKeys | null;
  /** The secret before a rotation: signs as well, until its time has come by the clock of the attempt. */
  readonly previousSecret: (SigningKeys & { readonly untilMs: number }) | null;
  /** Whether the headers of Standard Webhooks are sent beside ours. */
  readonly standardWebhooks: boolean;
  /** Custom headers that may be sent. */
  readonly headers: readonly WebhookHeader[];
  /** All custom headers, values sealed as they are stored. */
  readonly sealedHeaders: readonly WebhookHeader[];
  readonly retryPolicy: RetryPolicy;
}

/** A webhook row as the index loads it. */
export interface SubscriptionRow {
  id: string;
  partner_id: string;
  org_id: string;
  url_sealed: string;
  secret_sealed: string | null;
  previous_secret_sealed: string | null;
  secret_overlap_until: Date | null;
  standard_webhooks: boolean;
  headers: WebhookHeader[];
  events: string[];
  status: string;
  retry_policy: unknown;
}

/** @throws UnsealFailed  when a sealed part cannot be opened; TypeError when the URL does not parse */
export function openSubscription(row: SubscriptionRow, sealing: WebhookSealingService, nowMs: number): Subscription {
  const url = sealing.openUrl(row.id, row.url_sealed);
  const origin = originOf(url);
  return {
    webhookId: row.id,
    partnerId: row.partner_id,
    orgId: row.org_id,
    types: coveredTypes(row.events),
    url,
    origin,
    shard: shardOf(origin),
    secret: row.secret_sealed === null ? null : keysOf(row, row.secret_sealed, sealing),
    previousSecret: previousOf(row, sealing, nowMs),
    standardWebhooks: row.standard_webhooks,
    headers: sendableHeaders(sealing.openHeaders(row.id, row.headers)),
    sealedHeaders: row.headers,
    retryPolicy: readRetryPolicy(row.retry_policy),
  };
}

const keysOf = ({ id, standard_webhooks }: SubscriptionRow, sealed: string, sealing: WebhookSealingService): SigningKeys =>
  signingKeys(sealing.openSecret(id, sealed), standard_webhooks);

/** One whose time has passed is not opened: its key may be gone by then, and the webhook works without it. */
function previousOf(row: SubscriptionRow, sealing: WebhookSealingService, nowMs: number): Subscription['previousSecret'] {
  const { previous_secret_sealed: sealed, secret_overlap_until: until } = row;
  if (sealed === null || until === null || until.getTime() <= nowMs) return null;
  return { ...keysOf(row, sealed, sealing), untilMs: until.getTime() };
}
