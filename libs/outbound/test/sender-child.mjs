import { Outbound } from '../dist/index.js';

/** Posts to each URL it is given and prints what came of it: a process of its own, for what Node reads at its start. */
const outbound = new Outbound({
  isHosted: true,
  extraAllowedCidrs: ['127.0.0.0/8'],
  resolver: { resolve: () => Promise.resolve(['127.0.0.1']) },
});
const outcomes = [];
for (const url of process.argv.slice(2)) {
  const outcome = await outbound.post({ url, body: 'a secret', timeoutMs: 10_000, maxResponseBytes: 100 }).then(
    ({ status }) => String(status),
    (error) => `${error.constructor.name}: ${error.message}`,
  );
  outcomes.push(outcome);
}
await outbound.close();
process.stdout.write(JSON.stringify(outcomes));
