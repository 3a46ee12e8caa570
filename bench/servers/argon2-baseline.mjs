// The baseline of `bench login`: Argon2id and nothing else, with as many callers in flight.
import { createRequire } from 'node:module';
import { announce } from '../support/bench-server.mjs';
import { ARGON2, PASSWORD } from '../support/identity-data.mjs';

const argon2 = createRequire(import.meta.url)('argon2');
const hash = await argon2.hash(PASSWORD, ARGON2);

process.on('message', async (message) => {
  if (message?.verify === undefined) return;
  const { callers, seconds } = message.verify;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let count = 0;
  const caller = async () => {
    while (performance.now() < until) {
      await argon2.verify(hash, PASSWORD);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  process.send({ perSecond: count / ((performance.now() - startedAt) / 1000) });
});
announce(0);
