import { hashedId } from '../intake/delivery-id.js';
import type { Subscription } from '../subscriptions/subscription.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.js';

const AUTHORIZATION = 'authorization';

/**
 * Which headers the requests of a webhook carry: all that an attempt need not keep by itself. The same for all
 * attempts until the webhook's headers or secrets change.
 */
export interface RequestShape {
  /** From all the rest, so that every process gives the same shape the same id. */
  readonly id: string;
  readonly webhookId: string;
  /** As they were sent, in order. */
  readonly names: readonly string[];
  /** The webhook's own headers, values sealed as in its row. */
  readonly headers: readonly WebhookHeader[];
  /** How many of them were given to the sender. */
  readonly sent: number;
  /** Whether the table has it. */
  isStored: boolean;
}

const shapes = new WeakMap<Subscription, RequestShape[]>();

/**
 * The shape of a request that is about to be sent. Made once per version of a webhook, and once more when the overlap
 * of its secrets ends, which takes a header away: the number of headers tells the two apart.
 */
export function requestShapeOf(subscription: Subscription, sent: Readonly<Record<string, string>>): RequestShape {
  let known = shapes.get(subscription);
  if (!known) shapes.set(subscription, (known = []));
  const names = Object.keys(sent);
  return known.find((shape) => shape.sent === names.length) ?? remember(known, subscription, names);
}

function remember(
  known: RequestShape[],
  { webhookId, url, sealedHeaders }: Subscription,
  sent: string[],
): RequestShape {
  const names = hasOwnCredentials(url, sent) ? [...sent, AUTHORIZATION] : sent;
  const id = hashedId(JSON.stringify([webhookId, names, sealedHeaders]));
  const shape = { id, webhookId, names, headers: sealedHeaders, sent: sent.length, isStored: false };
  known.push(shape);
  return shape;
}

/** Userinfo of the URL goes out as Basic credentials, unless the webhook brings a header for them. */
function hasOwnCredentials(url: string, sent: readonly string[]): boolean {
  const { username, password } = new URL(url);
  return (username !== '' || password !== '') && !sent.some((name) => name.toLowerCase() === AUTHORIZATION);
}
