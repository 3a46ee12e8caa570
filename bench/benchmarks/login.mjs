// ./fleet bench login: logins per second against raw Argon2id of the same parameters, and the effect of many
// logins on other callers.
import autocannon from 'autocannon';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores } from '../support/built-code.mjs';
import { addPartner, identityEnvironment, createStreams, PASSWORD, signIn } from '../support/identity-data.mjs';
import { isQuick } from '../support/quick.mjs';
import { median, report, target } from '../support/report.mjs';

const ROUNDS = isQuick ? 1 : 5;
const SECONDS = isQuick ? 1 : 3;
const CALLERS = 8;
const USERS = 40;
const READS_PER_SECOND = 50;
/** Passwords whose estimate takes zxcvbn longest: repeated patterns with replaced characters, dates, digits. */
const HOSTILE = ['P@$$w0rd'.repeat(16), '1991-12-20'.repeat(12), 'p4$$w0rd1!'.repeat(12), '4'.repeat(128)];

const { stores, database, schema, nats, env } = await benchStores('identity');
await createStreams(nats.adminUrl);
const cores = availableParallelism();
const ours = new BenchServer('identity-service.mjs', {
  env: { ...identityEnvironment(env), UV_THREADPOOL_SIZE: String(cores + 4) },
});
const floor = new BenchServer('argon2-baseline.mjs', { env: { UV_THREADPOOL_SIZE: String(cores) } });

try {
  await Promise.all([ours.ready(), floor.ready()]);
  const { email } = await addPartner(database.adminUrl, schema, 'login', USERS);
  const token = await signIn(ours.port, email(1));
  await flood(email, 1);
  await raw(1);
  await scoreHostilePasswords(); // loads the word lists
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const hashes = await raw(SECONDS);
    const logins = await flood(email, SECONDS);
    const quietMs = await readAlone(token);
    await ours.ask('delay');
    const [, busyMs] = await Promise.all([flood(email, SECONDS), read(token, SECONDS)]);
    const { p99Ms: delayMs } = await ours.ask('delay');
    const scoringMs = await scoreHostilePasswords();
    rounds.push({ hashes, logins, quietMs, busyMs, delayMs, scoringMs });
  }
  print(rounds);
} finally {
  await Promise.all([ours.stop(), floor.stop()]);
  await stores.stop();
}

async function raw(seconds) {
  floor.child.send({ verify: { callers: CALLERS, seconds } });
  const [message] = await new Promise((resolve) => floor.child.once('message', (response) => resolve([response])));
  return message.perSecond;
}

/** Measures logins with as many callers in flight; every response must be a session. @returns logins per second */
async function flood(email, seconds) {
  const requests = Array.from({ length: USERS - 1 }, (_, i) => ({
    method: 'POST',
    path: '/api/v1/auth/login',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: email(i + 2), password: PASSWORD }),
  }));
  const url = `http://127.0.0.1:${ours.port}`;
  const result = await autocannon({ url, connections: CALLERS, duration: seconds, requests });
  if (result.non2xx || result.errors) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}

/** Chooses 20 hostile passwords at the same time. @returns the longest delay of the event loop meanwhile, in ms */
async function scoreHostilePasswords() {
  await ours.ask('delay');
  const url = `http://127.0.0.1:${ours.port}/api/v1/auth/register`;
  const choose = async (password, n) => {
    const body = JSON.stringify({ email: `hostile-${n}@bench.test`, password, name: 'Hostile' });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await response.arrayBuffer();
    if (![200, 400].includes(response.status)) throw new Error(`${url}: ${response.status}`);
  };
  await Promise.all(Array.from({ length: 20 }, (_, n) => choose(HOSTILE[n % HOSTILE.length], n)));
  return (await ours.ask('delay')).maxMs;
}

async function readAlone(token) {
  await sleep(300);
  return read(token, 2);
}

/** Sends authenticated requests at a steady rate. @returns p99 in ms */
async function read(token, seconds) {
  const times = [];
  const pending = [];
  const url = `http://127.0.0.1:${ours.port}/api/v1/permissions/catalog`;
  const call = async () => {
    const startedAt = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
    times.push(performance.now() - startedAt);
  };
  for (let i = 0; i < seconds * READS_PER_SECOND; i++) {
    pending.push(call());
    await sleep(1000 / READS_PER_SECOND);
  }
  await Promise.all(pending);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)];
}

function print(rounds) {
  const of = (key) => median(rounds.map((round) => round[key]));
  const quiet = of('quietMs');
  report(
    {
      name: 'login',
      arms: [
        { arm: `raw Argon2id, ${CALLERS} callers`, 'per second': of('hashes'), 'p99 ms': '' },
        { arm: `logins, ${CALLERS} callers`, 'per second': of('logins'), 'p99 ms': '' },
        { arm: 'signed-in request, quiet', 'per second': READS_PER_SECOND, 'p99 ms': quiet },
        { arm: 'signed-in request, under the flood', 'per second': READS_PER_SECOND, 'p99 ms': of('busyMs') },
        { arm: 'event loop delay, under the flood', 'per second': '', 'p99 ms': of('delayMs') },
        { arm: 'event loop delay, longest, 20 hostile passwords', 'per second': '', 'p99 ms': of('scoringMs') },
      ],
      targets: [
        target('logins against raw hashes', median(rounds.map(({ logins, hashes }) => logins / hashes)), '>=', 0.85),
        target('signed-in p99 under the flood, ms', of('busyMs'), '<=', Math.max(2 * quiet, 25)),
        target('event loop delay p99, ms', of('delayMs'), '<=', 10),
        target('longest event loop delay under hostile passwords, ms', of('scoringMs'), '<=', 20),
      ],
      notes: ['The generator, PostgreSQL, Redis and NATS share the cores with the service.'],
    },
    process.argv,
  );
}
