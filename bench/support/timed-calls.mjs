// A thread that sends GET requests one after the other, with a pause between them, and times them. It is apart from the
// thread that sends the load, whose large bodies would delay it.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { request } from 'undici';

const { url, headers, pauseMs = 5 } = workerData;
const times = [];
let ends = false;
parentPort.once('message', () => (ends = true));
while (!ends) {
  const startedAt = performance.now();
  const { statusCode, body } = await request(url, { headers: { 'accept-encoding': 'gzip', ...headers } });
  await body.arrayBuffer();
  if (statusCode !== 200) throw new Error(`${url}: ${statusCode}`);
  times.push(performance.now() - startedAt);
  await sleep(pauseMs);
}
parentPort.postMessage(times.sort((a, b) => a - b));
