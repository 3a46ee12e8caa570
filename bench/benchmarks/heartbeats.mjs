// ./fleet bench heartbeats: storing heartbeats of devices, against a bare update of one row by its primary key; and 10,000
// simulated agents over HTTP.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { isQuick, isSelected } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';
import { measureOverHttp } from '../support/simulated-agents.mjs';

const pg = createRequire(import.meta.url)('pg');
const DEVICES = isQuick ? 2_000 : 10_000;
const ORGANIZATIONS = 20;
const HEARTBEATS = isQuick ? 20_000 : 200_000;
const ROUNDS = isQuick ? 3 : 7;
const SECONDS = 1;
const HTTP_SECONDS = isQuick ? 15 : 45;
const CALLERS = 64;
const METRICS = JSON.stringify({
  cpuPercent: 12.5,
  ramPercent: 61.2,
  diskPercent: 48.9,
  processCount: 312,
  networkInMbps: 1.25,
  networkOutMbps: 0.75,
  uptimeSeconds: 864_213,
});
const SEED = `
  WITH organizations AS (
    INSERT INTO organization (partner_id, name, name_key, slug)
    SELECT $1::uuid, 'Customer ' || n, 'customer ' || n, 'customer-' || n FROM generate_series(1, $2::int) n RETURNING id),
  numbered AS (SELECT id, row_number() OVER () AS number FROM organizations),
  devices AS (
    INSERT INTO device (partner_id, org_id, hostname, os_type, os_version, enrolled_at)
    SELECT $1::uuid, o.id, 'pc-' || n, 'linux', '13', now()
      FROM generate_series(1, $3::int) n JOIN numbered o ON o.number = 1 + n % $2::int RETURNING id, org_id)
  INSERT INTO device_state (device_id, partner_id, org_id, status, agent_version, last_seen_at, metrics, offline_check_at)
  SELECT id, $1::uuid, org_id, 'online', '1.0', now(), $4::jsonb, now() + interval '1 hour' FROM devices
  RETURNING device_id AS "deviceId", org_id AS "orgId"`;
/** Without row-level security, and with the index on the time of the last heartbeat that a sweep would like best. */
const COPIES = `
  CREATE TABLE bench_bare WITH (fillfactor = 60) AS SELECT device_id, last_seen_at, metrics FROM device_state;
  ALTER TABLE bench_bare ADD PRIMARY KEY (device_id);
  CREATE TABLE bench_indexed WITH (fillfactor = 60) AS SELECT * FROM device_state;
  ALTER TABLE bench_indexed ADD PRIMARY KEY (device_id);
  CREATE INDEX ON bench_indexed (last_seen_at) WHERE status = 'online';`;
const UPDATE = 'SET last_seen_at = now(), metrics = $2::jsonb WHERE device_id = $1::uuid';

const { stores, database, schema, nats, env } = await benchStores('provisioning');
const { Databases, WorkerDatabase } = await lib('persistence');
const { ENTITIES } = await built('provisioning', 'entities.js');
const { MIGRATIONS } = await built('provisioning', 'migrations/index.js');
const { AgentsRepository } = await built('provisioning', 'agents/agents.repository.js');
const { HeartbeatWriter } = await built('provisioning', 'agents/heartbeat-writer.service.js');
const { DeviceStatesRepository } = await built('provisioning', 'devices/offline/device-states.repository.js');

const databases = await Databases.open({
  schema,
  entities: ENTITIES,
  migrations: MIGRATIONS,
  config: {
    service: 'provisioning',
    databaseUrl: env.DATABASE_URL,
    migrationsDatabaseUrl: env.MIGRATIONS_DATABASE_URL,
    workerDatabaseUrl: env.WORKER_DATABASE_URL,
    pools: { serviceMax: 8, workerMax: 4 },
  },
});
const options = `-c search_path=${schema}`;
const admin = new pg.Client({ connectionString: database.adminUrl, options });
const bare = new pg.Pool({ connectionString: env.DATABASE_URL, max: 8, options, pipeline: true });
await admin.connect();
let next = 0;

try {
  const partnerId = crypto.randomUUID();
  const { rows: devices } = await admin.query(SEED, [partnerId, ORGANIZATIONS, DEVICES, METRICS]);
  await admin.query(COPIES);
  await admin.query(`GRANT SELECT, UPDATE ON bench_bare, bench_indexed TO "${new URL(env.DATABASE_URL).username}"`);
  await admin.query('VACUUM ANALYZE');

  const writer = new HeartbeatWriter(new AgentsRepository(new WorkerDatabase(databases)), console);
  const heartbeat = { agentVersion: '1.0', osVersion: '13', metrics: METRICS };
  const store = async (device) => {
    if (!(await writer.storeUnchanged({ ...device, ...heartbeat }))) throw new Error('a heartbeat was not stored');
  };
  const update = (table) => (device) =>
    bare.query({ name: table, text: `UPDATE ${table} ${UPDATE}`, values: [device.deviceId, METRICS] });
  const arms = [
    { name: 'bare update by primary key', table: 'bench_bare', run: update('bench_bare') },
    { name: 'heartbeat', table: 'device_state', run: store },
    { name: 'bare update, last_seen_at indexed', table: 'bench_indexed', run: update('bench_indexed') },
  ];
  for (const arm of arms) await rateOf(arm, devices);
  for (let round = 0; round < ROUNDS; round++) {
    for (const arm of arms) (arm.rates ??= []).push(await rateOf(arm, devices));
  }
  for (const arm of arms) Object.assign(arm, await growthOf(arm, devices));
  const sweep = await measureSweep(new DeviceStatesRepository(new WorkerDatabase(databases)));
  const http = isSelected('http') ? await measureOverHttp({ admin, env, nats, stores, seconds: HTTP_SECONDS }) : null;
  print(arms, sweep, http);
} finally {
  await bare.end();
  await admin.end();
  await databases.close();
  await stores.stop();
}

/** Runs heartbeats of random devices for a while. @returns heartbeats per second */
async function rateOf({ run }, devices) {
  const startedAt = performance.now();
  let count = 0;
  const caller = async () => {
    while (performance.now() - startedAt < SECONDS * 1000) {
      await run(pick(devices));
      count++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return count / ((performance.now() - startedAt) / 1000);
}

/** Runs a fixed number of heartbeats and returns what they cost: rows, WAL and the growth of table and indexes. */
async function growthOf({ run, table }, devices) {
  const warmUp = Math.floor(HEARTBEATS / 4); // fills the free space of each page once
  await repeat(run, devices, warmUp);
  const before = await statisticsOf(table);
  await repeat(run, devices, HEARTBEATS);
  const after = await statisticsOf(table);
  const updates = after.updates - before.updates;
  return {
    rowsEach: updates / HEARTBEATS,
    walEach: (after.wal - before.wal) / HEARTBEATS,
    hot: (after.hot - before.hot) / updates,
    tableGrowth: after.tableBytes / before.tableBytes,
    indexGrowth: after.indexBytes / before.indexBytes,
  };
}

async function repeat(run, devices, times) {
  let left = times;
  const caller = async () => {
    while (left-- > 0) await run(pick(devices));
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

/** Returns every device in turn, in an order that is not the one of the table. */
function pick(devices) {
  next = (next + 7_919) % devices.length;
  return devices[next];
}

async function statisticsOf(table) {
  // A session reports its counts with its next statement, once a second at most.
  await sleep(1_100);
  for (const pool of [bare, databases.servicePool, databases.workerPool]) {
    await Promise.all(Array.from({ length: pool.options.max }, () => pool.query('SELECT pg_sleep(0.05)')));
  }
  const { rows } = await admin.query(
    `SELECT n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot,
            pg_relation_size(relid)::float8 AS "tableBytes", pg_indexes_size(relid)::float8 AS "indexBytes",
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal
       FROM pg_stat_user_tables WHERE relname = $1`,
    [table],
  );
  return rows[0];
}

/** Measures a sweep that finds nothing due, one that postpones all devices, and a scan of the states instead of it. */
async function measureSweep(states) {
  const timed = async (work) => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  const sweepAll = async () => {
    while ((await states.claimSilent(300, 500)).checked === 500);
  };
  const nothingDue = await timed(sweepAll);
  await admin.query(`UPDATE device_state SET offline_check_at = now() - interval '1 second', last_seen_at = now()`);
  const allDue = await timed(sweepAll);
  const scan = await timed(() =>
    admin.query(
      `SELECT device_id FROM device_state WHERE status = 'online' AND last_seen_at < now() - interval '5 min'`,
    ),
  );
  return { nothingDue, allDue, scan };
}

function print(arms, { nothingDue, allDue, scan }, http) {
  const [floor, heartbeat] = arms;
  const against = (arm) => median(arm.rates.map((rate, round) => rate / floor.rates[round]));
  const ms = (value) => value.toFixed(1);
  report(
    {
      name: 'heartbeats',
      arms: arms.map((arm) => ({
        arm: arm.name,
        'per second': Math.round(median(arm.rates)),
        'x bare': against(arm),
        'rows each': arm.rowsEach,
        'WAL bytes each': Math.round(arm.walEach),
        'heap-only': arm.hot,
        'x table': arm.tableGrowth,
        'x indexes': arm.indexGrowth,
      })),
      targets: [
        target('heartbeats against bare updates', against(heartbeat), '>=', 0.5),
        target('heap-only updates', heartbeat.hot, '>=', 0.99),
        target(`table after ${HEARTBEATS.toLocaleString('en')} heartbeats`, heartbeat.tableGrowth, '<=', 1.02),
        target(`indexes after ${HEARTBEATS.toLocaleString('en')} heartbeats`, heartbeat.indexGrowth, '<=', 1.02),
        ...(http ? targetsOf(http) : []),
      ],
      notes: [
        `${DEVICES.toLocaleString('en')} devices, ${CALLERS} callers. Heartbeats are written in sets, bare updates one by one on 8 connections.`,
        `Sweep of ${DEVICES.toLocaleString('en')} online devices: ${ms(nothingDue)} ms when none is due, ${ms(allDue)} ms when all are (once per DEVICE_OFFLINE_AFTER_SECONDS); a scan of all states ${ms(scan)} ms each time.`,
        'The stores run without full page writes and synchronous commits.',
        ...(http ? [describe(http)] : []),
      ],
    },
    process.argv,
  );
}

function targetsOf({ p99, failures }) {
  return [
    target('heartbeats of 10,000 agents over HTTP, p99 in ms', p99, '<=', 100),
    target(
      'heartbeats over HTTP that failed',
      Object.values(failures).reduce((all, times) => all + times, 0),
      '<=',
      0,
    ),
  ];
}

function describe({ perSecond, p50, p99, walEach, cpu, failures }) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  return [
    `10,000 simulated agents, a heartbeat each 60 s, for ${HTTP_SECONDS} s: ${perSecond.toFixed(0)} a second,`,
    `median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${Math.round(walEach)} bytes of WAL each;`,
    `of one core the service used ${percent(cpu.service)}, PostgreSQL ${percent(cpu.postgres)}, Redis ${percent(cpu.redis)}.`,
    ...Object.entries(failures).map(([name, times]) => `${times} x ${name}.`),
  ].join(' ');
}
