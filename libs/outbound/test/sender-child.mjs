import { setTimeout as sleep } from 'node:timers/promises';
import { Outbound } from '../dist/index.js';

/** Addresses of every name, in turn; the last one stays. */
const addresses = (process.env.ADDRESSES ?? '127.0.0.1').split(',');

/** Posts to each URL it is given and prints what came of it: a process of its own, for what Node reads at its start. */
const outbound = new Outbound({
  isHosted: true,
  extraAllowedCidrs: ['127.0.0.0/8'],
  resolver: { resolve: () => Promise.resolve([addresses.length > 1 ? addresses.shift() : addresses[0]]) },
});
const outcomes = [];
for (const url of process.argv.slice(2)) {
  const outcome = await outbound.post({ url, body: 'a secret', timeoutMs: 10_000, maxResponseBytes: 100 }).then(
    ({ status }) => String(status),
    (error) => `${error.constructor.name}: ${error.message}`,
  );
  outcomes.push(outcome);
  await sleep(50); // the pool takes a connection back a moment after its response
}
await outbound.close();
process.stdout.write(JSON.stringify(outcomes));
