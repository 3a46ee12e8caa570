// Values that the processes of the webhook benchmarks share.
import { createHmac } from 'node:crypto';

export const SECRET = 'a secret that all webhooks of the benchmarks share';

/** Returns the microseconds of the clock that all processes of a machine share. */
export const micros = () => Number(process.hrtime.bigint() / 1_000n);

/** @param sorted  ascending */
export const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

const FILLING = 'x'.repeat(760);

/** Returns the `data` of an event; the complete body has one kilobyte. `at` is the time of the publish. */
export const eventData = () => ({ deviceId: '6a0f0f3f-5b1f-4f5b-9d2a-5b1f6a1e6a55', at: micros(), note: FILLING });

/** Returns the eight headers of a delivery. @see docs/reference/webhooks.md */
export function plainHeaders(deliveryId, eventId, body) {
  const time = String(Date.now());
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhooks/1.0',
    'X-Service-Delivery-Id': deliveryId,
    'X-Service-Event-Id': eventId,
    'X-Service-Event-Type': 'device.enrolled',
    'X-Service-Timestamp': time,
    'X-Service-Signature': `sha256=${createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')}`,
    'X-Service-Signature-Timestamp': time,
  };
}
