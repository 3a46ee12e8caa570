// ./fleet bench api-key: a request with an API key against the same route without a guard, and against the textbook way
// (hash, one look-up, one call to Redis, one update); and whether three replicas ever overfill an hour.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores, lib } from '../support/built-code.mjs';
import { hammerThroughHours } from '../support/hourly-limit.mjs';
import { createStreams } from '../support/identity-data.mjs';
import { insertKeys, keyOf } from '../support/key-table.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';
import { flood, getRequest, Pace } from '../support/socket-load.mjs';
import { storesCpu } from '../support/stores-cpu.mjs';

const pg = createRequire(import.meta.url)('pg');
const { Redis } = createRequire(import.meta.url)('ioredis');
const ROUNDS = isQuick ? 1 : 5;
const SECONDS = isQuick ? 1 : 2;
const SLICES = isQuick ? 1 : 4;
const SLICE_SECONDS = 0.5;
const STORED_KEYS = isQuick ? 10_000 : 100_000;
const WARM_KEYS = 1_000;
const COLD_KEYS = isQuick ? 500 : 2_000; // of each round, never used before
const HOURLY_LIMIT = 500; // of the one key that three replicas are hammered with

const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { FakeOrganizations } = await lib('testing', 'fake-tenants.js');
const { stores, database, schema, nats, env } = await benchStores('credentials');
const natsUrl = nats.adminUrl ?? nats.url;
await createStreams(natsUrl);
const identity = await FakeIdentity.start(natsUrl);
const organizations = new FakeOrganizations(identity.link);
const tenant = { partnerId: randomUUID(), orgId: randomUUID() };
identity.addPartner({ partnerId: tenant.partnerId });
organizations.add(tenant);
const admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });
const redis = new Redis(stores.redisUrl);
const replicas = [[], ['records'], ['records']].map(
  (args) =>
    new BenchServer('api-key-service.mjs', {
      args,
      env: {
        ...env,
        PORT: '0',
        JWKS_URL: identity.jwksUrl,
        TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
        PUBLIC_API_URL: 'http://localhost:8080',
      },
    }),
);
const [server] = replicas;

try {
  await Promise.all(replicas.map((replica) => replica.ready()));
  await admin.connect();
  await insertKeys(admin, tenant, STORED_KEYS, HOURLY_LIMIT);
  await sleep(1_500); // both feeds were received, and the relays are idle
  const arms = warmArms();
  for (const arm of arms) await flood(server.port, { ...arm, seconds: 1.5 });
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await oneRound(arms, round));
  const hours = await hammerThroughHours(replicas, { path: '/api/v1/mcp/guarded', key: keyOf(1), limit: HOURLY_LIMIT });
  print(arms, rounds, hours);
} finally {
  await admin.end();
  redis.disconnect();
  await Promise.all(replicas.map((replica) => replica.stop()));
  organizations.stop();
  await identity.stop();
  await stores.stop();
}

/** Creates the same request for the three arms. The header with the key has another name where our authenticator must not read it. */
function warmArms() {
  const keys = Array.from({ length: WARM_KEYS }, (_, n) => keyOf(n + 2));
  const requests = (path, header) => keys.map((key) => getRequest(`/api/v1/mcp/${path}`, { [header]: key }));
  return [
    { name: 'a  no guard', requests: requests('open', 'x-bench-key') },
    { name: 'b  ours, warm', requests: requests('guarded', 'x-api-key') },
    { name: 'c  textbook, TypeORM', requests: requests('textbook', 'x-bench-key') },
    { name: 'd  textbook, prepared statements', requests: requests('prepared', 'x-bench-key') },
  ];
}

async function oneRound(arms, round) {
  const windows = [];
  for (const arm of arms) windows.push(await window(() => flood(server.port, { ...arm, seconds: SECONDS })));
  const coldKeys = Array.from({ length: COLD_KEYS }, (_, n) => keyOf(2 + WARM_KEYS + round * COLD_KEYS + n));
  const requests = coldKeys.map((key) => getRequest('/api/v1/mcp/guarded', { 'x-api-key': key }));
  windows.push(await window(() => flood(server.port, { requests, once: true })));
  return { windows, half: await atHalfLoad(arms.slice(0, 2), windows) };
}

/**
 * Runs both arms at half of their maximum in short alternating slices, so that other load affects both.
 * @returns p99 of each slice, arm by arm
 */
async function atHalfLoad(arms, windows) {
  const paces = arms.map(({ requests }, index) => new Pace(server.port, requests, windows[index].perSecond / 2));
  const slices = [];
  for (let slice = 0; slice < SLICES; slice++) {
    const p99s = [];
    for (const each of paces) p99s.push((await each.run(SLICE_SECONDS)).p99Ms);
    slices.push(p99s);
  }
  for (const each of paces) each.end();
  return slices;
}

/** Measures once, with the CPU of the service and the stores. */
async function window(load) {
  const costs = async () => ({
    cpu: await server.cpuMicros(),
    ...(await server.ask('sent')),
    ...(await storesCpu(redis, admin)),
  });
  const before = await costs();
  const result = await load();
  const after = await costs();
  const perRequest = (name) => (after[name] - before[name]) / result.requests;
  return {
    ...result,
    cpu: perRequest('cpu'),
    statements: perRequest('statements'),
    commands: perRequest('commands'),
    redis: perRequest('redis'),
    postgres: perRequest('postgres'),
  };
}

function print(arms, rounds, hours) {
  const medianOf = (index, name) => median(rounds.map(({ windows }) => windows[index][name]));
  const ratio = (index, to) => median(rounds.map(({ windows }) => windows[index].perSecond / windows[to].perSecond));
  const slices = rounds.flatMap(({ half }) => half);
  const rows = [...arms.map(({ name }) => name), 'e  ours, first use of a key'].map((name, index) => ({
    arm: name,
    'requests/s': Math.round(medianOf(index, 'perSecond')),
    'x no guard': ratio(index, 0),
    'x textbook': ratio(index, 2),
    'p50 ms': medianOf(index, 'p50Ms'),
    'p99 ms': medianOf(index, 'p99Ms'),
    'p99 at half load': index < 2 ? median(slices.map((slice) => slice[index])) : '',
    'CPU µs': Math.round(medianOf(index, 'cpu')),
    'Redis µs': Math.round(medianOf(index, 'redis')),
    'PostgreSQL µs': Math.round(medianOf(index, 'postgres')),
    statements: medianOf(index, 'statements'),
    'Redis calls': medianOf(index, 'commands'),
  }));
  const halfRatio = median(slices.map(([open, ours]) => ours / open));
  report(
    {
      name: 'api-key',
      arms: rows,
      targets: [
        target('warm against no guard', ratio(1, 0), '>=', 0.55),
        target('warm against the textbook way', ratio(1, 2), '>=', 3),
        target('p99 at half load against no guard', halfRatio, '<=', 2),
        target('statements per warm request', medianOf(1, 'statements'), '<=', 0),
        target('Redis calls per warm request', medianOf(1, 'commands'), '<=', 1),
        target(`requests over ${HOURLY_LIMIT} in any hour, three replicas`, hours.over, '<=', 0),
      ],
      notes: [
        `${STORED_KEYS.toLocaleString('en')} keys stored, ${WARM_KEYS.toLocaleString('en')} in use in turn. The textbook ` +
          'ways run the same script in Redis. The generator, the stores and the process that records uses share the ' +
          'cores with the service.',
        `The sliding hour: ${hours.asked.toLocaleString('en')} requests in ${hours.steps} steps over ` +
          `${(hours.offsetSeconds / 3_600).toFixed(1)} h of the moved clock, ` +
          `${hours.accepted.toLocaleString('en')} accepted, at most ${hours.fullest} in an hour; ` +
          `${hours.early} accepted before the second Retry-After named.`,
      ],
    },
    process.argv,
  );
}
