// ./fleet bench http: what a request costs on a service's own port, against bare node:http, Express and Nest + Express;
// the same with traces of which 1 % are recorded; and at SQL level one row by id through the tenant-scoped executor against the plain select.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer, measure } from '../support/bench-server.mjs';
import { benchStores } from '../support/built-code.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';
import { measureTenantRead } from '../support/tenant-read.mjs';

const ROUNDS = isQuick ? 1 : 6;
const SECONDS = 1; // a shorter window mostly opens connections; all stay below 100,000 requests, the highest limit a minute
const WARM_UP_SECONDS = 2;

const { stores, database, env } = await benchStores('identity');
const servers = [];
const start = async (script, options) => {
  const server = await new BenchServer(script, options).ready();
  servers.push(server);
  return server;
};

const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
await once(collector.listen(0, '127.0.0.1'), 'listening');
const OUR_ENV = {
  ...env,
  PORT: '0',
  REDIS_URL: 'redis://127.0.0.1:1', // unreachable: the global limiter counts in process memory
  GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
  TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
  PUBLIC_API_URL: 'http://localhost:8080',
  JWKS_URL: 'http://127.0.0.1:1/jwks.json',
};
const TRACING = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.address().port}`,
  OTEL_TRACES_SAMPLER_ARG: '0.01',
};

try {
  const ours = await start('http-service.mjs', { env: OUR_ENV });
  const second = await start('http-service.mjs', { env: OUR_ENV });
  const traced = await start('http-service.mjs', { env: { ...OUR_ENV, ...TRACING } });
  await sleep(1_500); // the feed was received, and the relay is idle
  const headers = { authorization: `Bearer ${ours.token}` };
  const list = ({ token }) => ({
    path: '/api/v1/bench/list?page=1&limit=50',
    headers: { authorization: `Bearer ${token}` },
  });
  const arms = [
    { name: 'a  node:http', server: await start('http-baselines.mjs', { args: ['node'] }), path: '/bench' },
    { name: 'b  Express', server: await start('http-baselines.mjs', { args: ['express'] }), path: '/bench' },
    { name: 'c  Nest + Express', server: await start('http-baselines.mjs', { args: ['nest'] }), path: '/bench' },
    { name: 'd  ours: token, guards, query', server: ours, ...list(ours) },
    // A second process is slower than the first one, with or without traces.
    { name: 'e  d in a second process', server: second, ...list(second) },
    { name: 'f  e with 1 % of traces recorded', server: traced, ...list(traced) },
    { name: 'g  ours: one tenant row by id', server: ours, path: `/api/v1/bench/rows/${ours.rowId}`, headers },
  ];
  const windows = await interleaved(arms);
  const sql = await measureTenantRead({
    url: env.DATABASE_URL,
    adminUrl: database.adminUrl,
    rowId: ours.rowId,
    partnerId: ours.partnerId,
  });
  print(arms, windows, sql);
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  collector.closeAllConnections();
  collector.close();
  await stores.stop();
}

/** Every second round has the opposite order, since an arm is slower after one that loads the stores. */
async function interleaved(arms) {
  for (const arm of arms) await measure(arm.server, { ...arm, seconds: WARM_UP_SECONDS });
  const windows = arms.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    const inOrder = [...arms.entries()];
    for (const [index, arm] of round % 2 === 0 ? inOrder : inOrder.reverse()) {
      windows[index].push(await measure(arm.server, { ...arm, seconds: SECONDS }));
    }
  }
  return windows;
}

/** Median over the rounds of the ratio inside each round: other load on the machine cancels out. */
function ratio(of, to) {
  return median(of.map((window, round) => window.perSecond / to[round].perSecond));
}

function print(arms, windows, sql) {
  const rows = arms.map((arm, index) => ({
    arm: arm.name,
    'requests/s': Math.round(median(windows[index].map((window) => window.perSecond))),
    'CPU µs': Math.round(median(windows[index].map((window) => window.cpuMicros))),
    'p99 ms': median(windows[index].map((window) => window.p99Ms)),
    'x node:http': ratio(windows[index], windows[0]),
    'x Nest': ratio(windows[index], windows[2]),
  }));
  const sqlRows = sql.arms.map((arm) => ({
    arm: arm.name,
    'requests/s': Math.round(arm.perSecond),
    'CPU µs': '',
    'p99 ms': '',
    'x node:http': '',
    'x Nest': '',
  }));
  report(
    {
      name: 'http',
      arms: [...rows, ...sqlRows],
      targets: [
        target('d against Nest + Express', ratio(windows[3], windows[2]), '>=', 0.5),
        target('f against e', ratio(windows[5], windows[4]), '>=', 0.97),
        target('SQL: tenants.read against the plain select', sql.ratio, '>=', 0.7),
        target('SQL: round trips of tenants.read', sql.roundTrips, '<=', 1),
      ],
      notes: [
        `SQL rows are queries per second, 8 callers. Redis is away on purpose: the limiter counts in the process.`,
      ],
    },
    process.argv,
  );
}
