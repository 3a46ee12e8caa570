// What the processes of the webhook benchmarks agree on.
import { createHmac } from 'node:crypto';

export const SECRET = 'a secret that all webhooks of the benchmarks share';

/** Microseconds of the one clock that all processes of a machine see. */
export const micros = () => Number(process.hrtime.bigint() / 1_000n);

/** @param sorted  ascending */
export const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

const FILLING = 'x'.repeat(760);

/** `data` of an event: with what stands around it, a body of one kilobyte. `at` is when it is published. */
export const eventData = () => ({ deviceId: '6a0f0f3f-5b1f-4f5b-9d2a-5b1f6a1e6a55', at: micros(), note: FILLING });

/** The eight headers of SPEC 6.2 in the plainest way. */
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
