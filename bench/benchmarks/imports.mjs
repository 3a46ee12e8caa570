// ./fleet bench imports: the list of one partner alone, and while another partner sends 40 imports in parallel.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { benchStores, lib } from '../support/built-code.mjs';
import { createStreams } from '../support/identity-data.mjs';
import { isQuick } from '../support/options.mjs';
import { startProvisioning } from '../support/provisioning-server.mjs';
import { report, target } from '../support/report.mjs';

const IMPORTS = 40;
const ROWS = 1_000;
const ALONE_MS = isQuick ? 3_000 : 10_000;
const ROUNDS = isQuick ? 1 : 3;

const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { stores, nats, env } = await benchStores('provisioning');
const natsUrl = nats.adminUrl ?? nats.url;
await createStreams(natsUrl);
const identity = await FakeIdentity.start(natsUrl);
/** The second one lists while the first one imports: what remains of the difference then is the machine, PostgreSQL and NATS. */
const [server, other] = [1, 2].map(() => startProvisioning(env, identity));

try {
  await Promise.all([server.ready(), other.ready()]);
  const [quiet, busy] = [await partner(), await partner()];
  await sleep(1_500); // the feeds were received
  for (let i = 0; i < 20; i++) await call(quiet, 'POST', '/orgs/organizations', { name: `Own ${i}` });
  for (const each of [server, other]) await listUntil(each, quiet, sleep(2_000));
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(quiet, busy, round));
  print(rounds);
} finally {
  await Promise.all([server.stop(), other.stop()]);
  await identity.stop();
  await stores.stop();
}

async function partner() {
  const partnerId = randomUUID();
  identity.addPartner({ partnerId, maxOrganizations: null });
  return identity.signIn({ scope: 'partner', partnerId });
}

async function measureRound(quiet, busy, round) {
  const alone = await measureCalls(server, quiet, () => sleep(ALONE_MS));
  const during = await measureCalls(server, quiet, () => importAll(busy, `${round}`));
  const elsewhere = await measureCalls(other, quiet, () => importAll(busy, `${round}-again`));
  return { alone, during, elsewhere };
}

/** Lists at a replica until the work ends. @returns the sorted times and the delays of its event loop in ms */
async function measureCalls(replica, token, work) {
  await replica.ask('loop');
  const before = await server.cpuMicros();
  const startedAt = performance.now();
  const times = await listUntil(replica, token, work());
  const seconds = (performance.now() - startedAt) / 1_000;
  const cores = ((await server.cpuMicros()) - before) / 1e6 / seconds;
  return { times, loop: await replica.ask('loop'), seconds, cores };
}

function importAll(token, name) {
  return Promise.all(Array.from({ length: IMPORTS }, (_, i) => importRows(token, `${name}-${i}`)));
}

/** Imports rows of its own, again after each 429 and 503. */
async function importRows(token, name) {
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    organization: `Customer ${name}-${i}`,
    externalId: `C-${name}-${i}`,
    site: 'Main Office',
    timezone: 'Europe/Berlin',
    contact: { name: 'Ann', email: `ann${i}@example.com` },
  }));
  const body = JSON.stringify({ rows });
  for (;;) {
    const response = await call(token, 'POST', '/orgs/import', body);
    if (response.status === 200) return;
    if (![429, 503].includes(response.status))
      throw new Error(`an import returned ${response.status}: ${response.text}`);
    await sleep(1_000 * response.retryAfterSeconds);
  }
}

/** Lists organizations one after the other until the work ends. @returns the sorted times in ms */
async function listUntil(replica, token, work) {
  const thread = new Worker(new URL('../support/timed-calls.mjs', import.meta.url), {
    workerData: {
      url: `http://127.0.0.1:${replica.port}/api/v1/orgs/organizations?limit=50`,
      headers: { authorization: `Bearer ${token}` },
    },
  });
  const result = once(thread, 'message'); // rejects when the thread fails
  try {
    await Promise.race([work, result.then(() => work)]);
  } finally {
    thread.postMessage('end');
  }
  const [times] = await result;
  return times;
}

async function call(token, method, path, body) {
  const response = await fetch(`http://127.0.0.1:${server.port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'object' ? JSON.stringify(body) : body,
  });
  const text = await response.text();
  return { status: response.status, text, retryAfterSeconds: Number(response.headers.get('retry-after') ?? 1) };
}

function print(rounds) {
  const at = (times, share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  const row = (arm, { times, loop, seconds, cores }) => ({
    arm,
    requests: times.length,
    p50: at(times, 0.5),
    p99: at(times, 0.99),
    'loop p99': loop.p99,
    'loop max': loop.max,
    'loop CPU p99': loop.cpuP99,
    'loop CPU max': loop.cpuMax,
    seconds,
    cores,
  });
  const arms = rounds.flatMap(({ alone, during, elsewhere }) => [
    row('alone', alone),
    row('40 imports', during),
    row('40 imports, another replica lists', elsewhere),
  ]);
  // The round that other work on the machine disturbed least.
  const best = (arm) => Math.min(...rounds.map((round) => at(round[arm].times, 0.99)));
  report(
    {
      name: 'imports',
      arms,
      targets: [
        target(
          'p99 of another partner during 40 imports, in ms',
          best('during'),
          '<=',
          Math.max(50, 2 * best('alone')),
        ),
      ],
      notes: [
        'Times in ms, from another process, in which one thread lists and another one imports. `cores` is the CPU of the service that imports; `loop CPU` is its CPU between two turns of a timer of 2 ms, which load of other processes does not change.',
      ],
    },
    process.argv,
  );
}
