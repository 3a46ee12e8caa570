// The baselines of `bench webhooks`: sign and send, with or without a stored row. The message names the way, the number and
// the receivers; the reply is the duration until all have responded and are stored.
import { randomUUID } from 'node:crypto';
import { announce } from '../support/bench-server.mjs';
import { FinalRows } from '../support/final-rows.mjs';
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

async function send({ way, count, fanOut, origins, path, databaseUrl }) {
  const post = POSTS[way];
  const rows = databaseUrl ? await FinalRows.open(databaseUrl) : null;
  const deliveries = deliveriesOf(count, fanOut);
  const loop = async () => {
    for (const { eventId, body, n } of deliveries) {
      const id = randomUUID();
      const startedMs = performance.now();
      const status = await post(origins[n % origins.length], path, plainHeaders(id, eventId, body), body);
      if (status !== 200) throw new Error(`the receiver responded to ${status}`);
      rows?.add({ id, n, eventId, status, ms: performance.now() - startedMs });
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  await rows?.flush();
  return { seconds: (performance.now() - startedAt) / 1_000 };
}

process.on('message', async (message) => {
  if (message.send) process.send(await send(message.send));
});
announce(0);
