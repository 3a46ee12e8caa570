import { hashedId } from '../intake/delivery-id.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';

const AUTHORIZATION = 'authorization';

/**
 * The headers that the requests of a webhook carry. The shape is the same for all attempts until the headers or secrets of the
 * webhook change, so attempts refer to it instead of storing headers.
 */
export interface RequestShape {
  /** A hash of the other fields, so that every replica gives the same shape the same id. */
  readonly id: string;
  readonly webhookId: string;
  /** The names in the order they were sent. */
  readonly names: readonly string[];
  /** The custom headers of the webhook, values sealed as in its row. */
  readonly headers: readonly WebhookHeader[];
  /** The number of headers the request was created with. */
  readonly headerCount: number;
  /** True once it is in `request_shape`. */
  isStored: boolean;
}

const shapes = new WeakMap<Subscription, RequestShape[]>();

/**
 * Returns the shape of a request that is about to be sent. It is created once per version of a webhook, and once more
 * when the overlap of its secrets ends, which removes a header; the number of headers distinguishes the two.
 */
export function requestShapeOf(subscription: Subscription, sent: Readonly<Record<string, string>>): RequestShape {
  let known = shapes.get(subscription);
  if (!known) shapes.set(subscription, (known = []));
  const names = Object.keys(sent);
  return known.find((shape) => shape.headerCount === names.length) ?? createShape(known, subscription, names);
}

function createShape(
  known: RequestShape[],
  { webhookId, url, sealedHeaders }: Subscription,
  sent: string[],
): RequestShape {
  const names = sendsUrlCredentials(url, sent) ? [...sent, AUTHORIZATION] : sent;
  const id = hashedId(JSON.stringify([webhookId, names, sealedHeaders]));
  const shape = { id, webhookId, names, headers: sealedHeaders, headerCount: sent.length, isStored: false };
  known.push(shape);
  return shape;
}

/** Returns whether the userinfo of the URL is sent as Basic credentials, which a custom header replaces. */
function sendsUrlCredentials(url: string, sent: readonly string[]): boolean {
  const { username, password } = new URL(url);
  return (username !== '' || password !== '') && !sent.some((name) => name.toLowerCase() === AUTHORIZATION);
}
