// ./fleet bench partner-export: a partner key reads every device of a partner page by page, while they change.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { DeviceWrites } from '../support/device-writes.mjs';
import { seedExport } from '../support/export-data.mjs';
import { ConsumedDevices, PAGE, readExport, readPage } from '../support/export-pages.mjs';
import { createStreams } from '../support/identity-data.mjs';
import { isChecked, isLong, isQuick, sizeOr } from '../support/options.mjs';
import { memoryOf } from '../support/process-stats.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const SIZE = sizeOr(isQuick ? 20_000 : isLong ? 1_000_000 : 100_000);
const ROUNDS = isQuick ? 5 : 15;
/** Exports during writes, each after writes alone: the p99 of one is the fifth-slowest of 400 calls. */
const EXPORTS = isQuick || isLong ? 1 : 3;
const ALONE_MS = isQuick ? 3_000 : 15_000;
/** Calls before the first measurement: the code of the services is compiled meanwhile. */
const WARM_UP_CALLS = isQuick ? 20 : 200;
const COUNTED_PAGES = 20;
/** The first pages, which are read while nothing else runs. */
const QUIET_PAGES = 200;
/** A key has 10,000 requests an hour. */
const PAUSE_OF_OTHER_MS = SIZE > 200_000 ? 40 : 10;
const MAX_RUN_MS = 600_000;
/** At a third of the wanted rate the export fails. */
const MAX_EXPORT_MS = Math.max(20_000, (SIZE / 1_500) * 1_000);

/** The columns of a page. */
const FLOOR = `
  SELECT d.id, d.org_id, d.site_id, d.updated_at, d.hostname, d.display_name, d.os_type, d.os_version, d.architecture,
         d.device_role, d.is_virtual, d.virtualization_platform, d.enrolled_at, d.tags, d.custom_fields, h.hardware
    FROM device d LEFT JOIN device_hardware h ON h.device_id = d.id
   WHERE d.partner_id = $1 AND d.id > $2 ORDER BY d.id LIMIT ${PAGE}`;

const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { stores, database, nats, envOf } = await benchStores('partner-gateway', ['provisioning', 'credentials']);
await createTables();
const connectAdmin = async () => {
  const client = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=provisioning' });
  await client.connect();
  return client;
};
const [admin, writer] = [await connectAdmin(), await connectAdmin()];
const natsUrl = nats.adminUrl ?? nats.url;
await createStreams(natsUrl);
const identity = await FakeIdentity.start(natsUrl);
const servers = {};
setTimeout(() => {
  throw new Error(`The benchmark took longer than ${MAX_RUN_MS / 60_000} minutes`);
}, MAX_RUN_MS).unref();

try {
  const data = await seedExport(admin, SIZE);
  for (const partnerId of [data.partnerId, data.otherId]) identity.addPartner({ partnerId, maxOrganizations: null });
  for (const name of ['credentials', 'provisioning', 'partner-gateway']) servers[name] = startServer(name);
  await Promise.all(Object.values(servers).map((server) => server.ready()));
  await sleep(2_000); // the directories of tenants are filled
  const { port } = servers['partner-gateway'];
  const exporter = { port, key: await createKey(data.partnerId) };
  const other = { port, key: await createKey(data.otherId) };
  for (let n = 0; n < WARM_UP_CALLS; n += 1) {
    await readPage(exporter, {});
    await readPage(other, { limit: '50' });
  }
  const floor = await measureFloor(data.partnerId);
  const alone = await callWhile(other, () => sleep(ALONE_MS));
  const quiet = await measureQuietExport(exporter);
  const [writes, busy] = [[], []];
  for (let nth = 0; nth < EXPORTS; nth += 1) {
    writes.push(await callDuringWrites(other, data));
    busy.push(await measureBusyExport(exporter, other, data));
  }
  const { cursors } = busy[0];
  const pages = await measurePages(exporter, data.partnerId, cursors);
  print({ floor, alone, writes, quiet, busy, pages, statements: await countStatements(exporter, cursors) });
} finally {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  await identity.stop();
  await Promise.all([admin.end(), writer.end()]);
  await stores.stop();
}

/** Runs the migrations of provisioning, so that its tables are filled before it starts. */
async function createTables() {
  const { Databases } = await lib('persistence');
  const env = envOf('provisioning');
  const databases = await Databases.open({
    schema: 'provisioning',
    entities: (await built('provisioning', 'entities.js')).ENTITIES,
    migrations: (await built('provisioning', 'migrations/index.js')).MIGRATIONS,
    config: {
      service: 'provisioning',
      databaseUrl: env.DATABASE_URL,
      migrationsDatabaseUrl: env.MIGRATIONS_DATABASE_URL,
      workerDatabaseUrl: env.WORKER_DATABASE_URL,
      pools: { serviceMax: 1, workerMax: 1 },
    },
  });
  await databases.close();
}

function startServer(name) {
  const env = {
    ...envOf(name),
    PORT: '0',
    JWKS_URL: identity.jwksUrl,
    PUBLIC_API_URL: 'http://localhost:8080',
    PUBLIC_APP_URL: 'http://localhost:8080',
    ENROLLMENT_KEY_PEPPER: 'pepper of the benchmark',
    GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
    TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
  };
  return new BenchServer('export-service.mjs', { args: [name], env });
}

/** Creates a partner principal with a key at credentials. @returns the key */
async function createKey(partnerId) {
  const token = await identity.signIn({ scope: 'partner', partnerId });
  const post = async (path, body) => {
    const response = await fetch(
      `http://127.0.0.1:${servers.credentials.port}/api/v1/partner-service-principals${path}`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      },
    );
    const text = await response.text();
    if (response.status !== 201) throw new Error(`credentials returned ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  const { data } = await post('', { name: `Export ${randomUUID()}` });
  return (await post(`/${data.id}/keys`, { name: 'First', rateLimit: 10_000 })).key;
}

/** The least that an export can cost: a select of each page on one connection, as JSON that the consumer parses. */
async function measureFloor(partnerId) {
  const startedAt = performance.now();
  let records = 0;
  for (let last = '00000000-0000-0000-0000-000000000000'; last !== undefined;) {
    const rows = await readFloorPage(partnerId, last);
    records += rows.length;
    last = rows.at(-1)?.id;
  }
  return { perSecond: (records / (performance.now() - startedAt)) * 1_000 };
}

async function readFloorPage(partnerId, afterId) {
  const { rows } = await admin.query(FLOOR, [partnerId, afterId]);
  JSON.parse(JSON.stringify(rows));
  return rows;
}

/** Reads the first pages while nothing else runs, with the CPU of both services. */
async function measureQuietExport(exporter) {
  const cpu = async () => ({
    provisioning: await servers.provisioning.cpuMicros(),
    gateway: await servers['partner-gateway'].cpuMicros(),
  });
  const before = await cpu();
  const exported = await readExport(exporter, { maxMs: MAX_EXPORT_MS, maxPages: QUIET_PAGES });
  const after = await cpu();
  const ofPage = (name) => (after[name] - before[name]) / 1_000 / exported.pages;
  return { ...exported, cpuMs: { provisioning: ofPage('provisioning'), gateway: ofPage('gateway') } };
}

/** Calls as another tenant while devices change and no export runs. @returns the sorted times in ms */
async function callDuringWrites(other, data) {
  const writes = new DeviceWrites(writer, data).start();
  const times = await callWhile(other, () => sleep(ALONE_MS));
  await writes.stop();
  return times;
}

/** Reads everything while devices change and another tenant calls, with the memory of both services. */
async function measureBusyExport(exporter, other, data) {
  const consumed = await ConsumedDevices.create(admin, data.partnerId);
  const writes = new DeviceWrites(writer, data).start();
  const memory = watchMemory();
  const { rows } = await admin.query('SELECT clock_timestamp() AS at');
  const onPage = (page) => isChecked && consumed.add(page);
  let result;
  const meanwhile = await callWhile(other, async () => {
    result = await readExport(exporter, { onPage, maxMs: MAX_EXPORT_MS });
  });
  const written = { rowsPerSecond: await writes.stop(), suspended: writes.suspended };
  const exported = { ...result, ...written, startedAt: rows[0].at };
  return {
    ...exported,
    meanwhile,
    memory: memory.end(),
    check: isChecked && (await check(exporter, consumed, exported)),
  };
}

/** Compares the export with the tables, and once more after an incremental export. */
async function check(exporter, consumed, exported) {
  await consumed.store();
  const compared = await consumed.compare(exported);
  let different;
  // Provisioning stamps the devices of organizations that were suspended in the background.
  for (let attempt = 0; attempt < 20 && different !== 0; attempt += 1) {
    const parameters = { updatedSince: exported.snapshotAt };
    await readExport(exporter, { parameters, onPage: (page) => consumed.add(page), maxMs: MAX_EXPORT_MS });
    await consumed.store();
    different = await consumed.countDifferent();
    if (different !== 0) await sleep(1_000);
  }
  return { ...compared, different };
}

/** Calls as another tenant until the work ends. @returns the sorted times in ms */
async function callWhile({ port, key }, work) {
  const thread = new Worker(new URL('../support/timed-calls.mjs', import.meta.url), {
    workerData: {
      url: `http://127.0.0.1:${port}/api/v1/partner-api/devices?limit=50`,
      headers: { 'x-api-key': key },
      pauseMs: PAUSE_OF_OTHER_MS,
    },
  });
  const result = once(thread, 'message'); // rejects when the thread fails
  try {
    await Promise.race([work(), result]);
  } finally {
    thread.postMessage('end');
  }
  return (await result)[0];
}

/** Samples the memory of the services until its end. */
function watchMemory() {
  const highest = { provisioning: 0, 'partner-gateway': 0 };
  const timer = setInterval(() => {
    for (const name of Object.keys(highest)) {
      highest[name] = Math.max(highest[name], memoryOf(servers[name].child.pid));
    }
  }, 100);
  return {
    end: () => {
      clearInterval(timer);
      return highest;
    },
  };
}

/** Reads pages at the start, in the middle and at the end by turns, and the same pages of the floor. */
async function measurePages(exporter, partnerId, cursors) {
  const at = { start: 0, middle: Math.floor(cursors.length / 2), end: cursors.length - 2 };
  const times = Object.fromEntries(
    Object.keys(at).flatMap((name) => [
      [name, []],
      [`floor ${name}`, []],
    ]),
  );
  for (let round = -2; round < ROUNDS; round += 1) {
    for (const [name, nth] of Object.entries(at)) {
      const cursor = cursors[nth];
      const afterId = JSON.parse(Buffer.from(cursor.split('.')[0], 'base64url').toString()).after.id;
      const took = [
        await timed(() => readPage(exporter, { cursor })),
        await timed(() => readFloorPage(partnerId, afterId)),
      ];
      if (round >= 0) for (const [n, arm] of [name, `floor ${name}`].entries()) times[arm].push(took[n]);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/**
 * Returns the statements of a page: those that provisioning runs for its caller, and all of partner-gateway, which are for
 * the audit entry and its publication.
 */
async function countStatements(exporter, cursors) {
  const totals = async () => ({
    read: (await servers.provisioning.ask('statements')).ofCallers,
    audit: (await servers['partner-gateway'].ask('statements')).all,
  });
  const perPage = async (pages) => {
    const before = await totals();
    for (const parameters of pages) await readPage(exporter, parameters);
    const after = await totals();
    return { read: (after.read - before.read) / pages.length, audit: (after.audit - before.audit) / pages.length };
  };
  return {
    first: await perPage(Array.from({ length: COUNTED_PAGES }, () => ({}))),
    next: await perPage(Array.from({ length: COUNTED_PAGES }, () => ({ cursor: cursors[0] }))),
  };
}

function print({ floor, alone, writes, quiet, busy, pages, statements }) {
  const p99 = (times) => times[Math.min(times.length - 1, Math.floor(times.length * 0.99))];
  const rate = ({ records, ms }) => (records / ms) * 1_000;
  const row = (what, value, floorValue) => ({ what, value, floor: floorValue, 'of the floor': value / floorValue });
  const all = (rounds) => rounds.flat().sort((a, b) => a - b);
  const [writesOnly, meanwhile] = [all(writes), all(busy.map((round) => round.meanwhile))];
  const busyRate = median(busy.map(rate));
  const memory = (name) => Math.max(...busy.map((round) => round.memory[name]));
  const checks = busy.flatMap(({ check }) => Object.entries(check || {}));
  report(
    {
      name: 'partner-export',
      arms: [
        row('records/s, nothing else runs', rate(quiet), floor.perSecond),
        row('records/s, during writes and calls of another tenant', busyRate, floor.perSecond),
        ...['start', 'middle', 'end'].map((name) =>
          row(`page of ${PAGE} at the ${name}, ms`, pages[name], pages[`floor ${name}`]),
        ),
        row(`CPU of provisioning for a page of ${PAGE}, ms`, quiet.cpuMs.provisioning, pages['floor start']),
        row(`CPU of partner-gateway for a page of ${PAGE}, ms`, quiet.cpuMs.gateway, pages['floor start']),
        row('median of another tenant, ms (floor: the same writes, no export)', median(meanwhile), median(writesOnly)),
        row('p99 of another tenant, ms (floor: the same writes, no export)', p99(meanwhile), p99(writesOnly)),
        row('p99 of another tenant, ms (floor: nothing else runs)', p99(meanwhile), p99(alone)),
        row('statements of partner-gateway for the audit entry of a page', statements.next.audit, 1),
      ],
      targets: [
        target('records/s during writes', busyRate, '>=', 5_000),
        target('page in the middle against the start', pages.middle / pages.start, '<=', 1.5),
        target('page at the end against the start', pages.end / pages.start, '<=', 1.5),
        target('memory of partner-gateway, MB', memory('partner-gateway'), '<=', 300),
        target('memory of provisioning, MB', memory('provisioning'), '<=', 300),
        target('statements that read the first page', statements.first.read, '<=', 2),
        target('statements that read a further page', statements.next.read, '<=', 2),
        target('p99 of another tenant with and without the export', p99(meanwhile) / p99(writesOnly), '<=', 2),
        ...checks.map(([name, count]) => target(`devices that are ${name} in the export`, count, '<=', 0)),
      ],
      notes: [
        `One partner with ${SIZE.toLocaleString('en')} devices, 20 others with a quarter as many in all; pages of ${PAGE} over HTTP from partner-gateway, provisioning and credentials in processes of their own.`,
        'The floor is a keyset select of the columns as administrator, turned into JSON and parsed, on one connection.',
        `Meanwhile ${Math.round(busy[0].rowsPerSecond)} rows a second were written to the devices of the partner, and ${busy[0].suspended.length} organizations were suspended for a time; the other tenant called ${meanwhile.length} times, ${writesOnly.length} times during writes alone, ${alone.length} times alone.`,
        `The memory is the highest during an export. Ids ascended and the snapshot stayed the same in each export${isChecked ? '; the devices were compared with the table' : '; --check compares the devices with the table'}.`,
      ],
    },
    process.argv,
  );
}
