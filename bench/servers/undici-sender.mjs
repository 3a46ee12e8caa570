// The baselines of `bench webhooks`: sign and send, nothing stored. The message names the way, the number and the receivers;
// the reply is the duration until all have responded.
import { randomUUID } from 'node:crypto';
import { announce } from '../support/bench-server.mjs';
import { POSTS } from '../support/undici-post.mjs';
import { eventData, plainHeaders } from '../support/webhook-message.mjs';

const IN_FLIGHT = 64;

/** Returns event bodies, each sent `fanOut` times. */
function* deliveriesOf(count, fanOut) {
  for (let sent = 0; sent < count;) {
    const eventId = randomUUID();
    const timestamp = new Date().toISOString();
    const event = { id: eventId, type: 'device.enrolled', timestamp, orgId: eventId, data: eventData() };
    const body = JSON.stringify(event);
    for (let n = 0; n < fanOut && sent < count; n++, sent++) yield { eventId, body, n: sent };
  }
}

async function send({ way, count, fanOut, origins, path }) {
  const post = POSTS[way];
  const deliveries = deliveriesOf(count, fanOut);
  const loop = async () => {
    for (const { eventId, body, n } of deliveries) {
      const headers = plainHeaders(randomUUID(), eventId, body);
      const status = await post(origins[n % origins.length], path, headers, body);
      if (status !== 200) throw new Error(`the receiver responded to ${status}`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  return { seconds: (performance.now() - startedAt) / 1_000 };
}

process.on('message', async (message) => {
  if (message.send) process.send(await send(message.send));
});
announce(0);
