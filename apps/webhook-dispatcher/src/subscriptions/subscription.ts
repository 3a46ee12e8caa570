import { createSecretKey, type KeyObject } from 'node:crypto';
import { coveredTypes } from '../webhooks/event-patterns.js';
import { isReservedHeader, type WebhookHeader } from '../webhooks/webhook-headers.js';
import type { WebhookSealing } from '../webhooks/webhook-sealing.js';
import { readRetryPolicy, type RetryPolicy } from '../sending/retry-delay.js';

/** An active webhook, opened and ready to send: made once per version of its row. */
export interface Subscription {
  readonly webhookId: string;
  readonly orgId: string;
  readonly types: ReadonlySet<string>;
  readonly url: string;
  /** Scheme, host and port: what concurrency is capped by. */
  readonly origin: string;
  readonly secret: KeyObject | null;
  /** Custom headers that may be sent. */
  readonly headers: readonly WebhookHeader[];
  readonly retryPolicy: RetryPolicy;
}

/** A webhook row as the index loads it. */
export interface SubscriptionRow {
  id: string;
  org_id: string;
  url_sealed: string;
  secret_sealed: string | null;
  headers: WebhookHeader[];
  events: string[];
  status: string;
  retry_policy: unknown;
}

/** @throws UnsealFailed  when a sealed part cannot be opened; TypeError when the URL does not parse */
export function openSubscription(row: SubscriptionRow, sealing: WebhookSealing): Subscription {
  const url = sealing.openUrl(row.id, row.url_sealed);
  const secret = row.secret_sealed === null ? null : sealing.openSecret(row.id, row.secret_sealed);
  return {
    webhookId: row.id,
    orgId: row.org_id,
    types: coveredTypes(row.events),
    url,
    origin: new URL(url).origin,
    secret: secret === null ? null : createSecretKey(secret, 'utf8'),
    headers: sendableHeaders(sealing.openHeaders(row.id, row.headers)),
    retryPolicy: readRetryPolicy(row.retry_policy),
  };
}

/** Rows written past the API get the same rules: a reserved or doubled name is left out, whatever its spelling. */
function sendableHeaders(headers: readonly WebhookHeader[]): WebhookHeader[] {
  const seen = new Set<string>();
  return headers.filter(({ key }) => {
    const lower = key.toLowerCase();
    const isFine = !isReservedHeader(lower) && !seen.has(lower);
    seen.add(lower);
    return isFine;
  });
}
