// ./fleet bench devices: the device list of a partner with 1,000,000 devices: first, middle and last page, and each filter.
import { createRequire } from 'node:module';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { seedDevices } from '../support/device-data.mjs';
import { isQuick, isSelected } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const DEVICES = isQuick ? 100_000 : 1_000_000;
const ROUNDS = isQuick ? 9 : 25;
/** Devices of a page while all are read, and of a measured page. */
const SCAN_LIMIT = 1_000;
const LIMIT = 500;
const SORTS = ['created', 'hostname', 'status', 'lastSeen'];

const { stores, database, schema, env } = await benchStores('provisioning');
const { Databases, TenantDatabase, WorkerDatabase } = await lib('persistence');
const { ENTITIES } = await built('provisioning', 'entities.js');
const { MIGRATIONS } = await built('provisioning', 'migrations/index.js');
const { DevicesRepository } = await built('provisioning', 'devices/devices.repository.js');

const databases = await Databases.open({
  schema,
  entities: ENTITIES,
  migrations: MIGRATIONS,
  config: {
    service: 'provisioning',
    databaseUrl: env.DATABASE_URL,
    migrationsDatabaseUrl: env.MIGRATIONS_DATABASE_URL,
    workerDatabaseUrl: env.WORKER_DATABASE_URL,
    pools: { serviceMax: 4, workerMax: 2 },
  },
});
const admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });
await admin.connect();

/** The parts of the benchmark: each returns the rows and the targets that it adds to the report. */
const ARMS = [
  ...SORTS.map((sort) => ({ name: `pages by ${sort}`, run: (data) => measurePages(data, sort) })),
  { name: 'filters', run: measureFilters },
];

try {
  const own = await seedDevices(admin, DEVICES);
  const config = { secrets: { keyRing: { keys: { k: 'a key of the benchmark' }, activeKid: 'k' } } };
  const devices = new DevicesRepository(new TenantDatabase(databases), new WorkerDatabase(databases), config);
  const tenant = {
    scope: 'partner',
    partnerId: own.partnerId,
    orgId: null,
    orgAccess: 'all',
    orgIds: [],
    userId: null,
  };
  const caller = { userId: own.orgId, siteIds: null, deviceGroupIds: null, tenant };
  const results = [];
  for (const arm of ARMS) if (isSelected(arm.name)) results.push(await arm.run({ devices, caller, own }));
  report(
    {
      name: 'devices',
      arms: results.flatMap(({ arms }) => arms),
      targets: results.flatMap(({ targets }) => targets),
      notes: [
        `One partner with ${DEVICES.toLocaleString('en')} devices in ${DEVICES / 1_000} organizations. The repository is called without HTTP.`,
        `Every page of ${SCAN_LIMIT} devices is read with cursors, then pages of ${LIMIT} at the start, in the middle and at the end by turns; medians of ${ROUNDS} rounds.`,
        'A filtered page has 50 devices and their total, which is counted up to 10,000.',
      ],
    },
    process.argv,
  );
} finally {
  await admin.end();
  await databases.close();
  await stores.stop();
}

function list({ devices, caller }, page, filter = {}) {
  const none = { includeDecommissioned: false, allowedSiteIds: null, allowedGroupIds: null };
  return devices.list(caller, { filter: { ...none, ...filter }, include: [] }, { page: 1, ...page });
}

/** Reads all devices page after page, and measures a page at the start, in the middle and at the end. */
async function measurePages(data, sort) {
  const order = sort === 'created' ? {} : { sort };
  const cursors = [];
  const startedAt = performance.now();
  let count = 0;
  for (let cursor = ''; cursor !== null;) {
    cursors.push(cursor);
    const { rows, pagination } = await list(data, { ...order, cursor, limit: SCAN_LIMIT });
    count += rows.length;
    cursor = pagination.nextCursor;
  }
  if (count !== DEVICES) throw new Error(`The pages by ${sort} have ${count} devices of ${DEVICES}`);
  const totalMs = performance.now() - startedAt;
  const last = cursors.length - 1;
  const pages = { first: cursors[0], middle: cursors[Math.floor(last / 2)], last: cursors[last] };
  const times = await roundsOf(
    Object.fromEntries(
      Object.entries(pages).map(([name, cursor]) => [name, () => list(data, { ...order, cursor, limit: LIMIT })]),
    ),
  );
  const ratioOf = (name) => times[name] / times.first;
  return {
    arms: Object.entries(times).map(([name, ms]) => ({
      what: `by ${sort}: ${name} page`,
      ms,
      'of the first': ratioOf(name),
      'all pages, devices/s': (count / totalMs) * 1_000,
    })),
    targets: ['middle', 'last'].map((name) =>
      target(`by ${sort}: ${name} page against the first`, ratioOf(name), '<=', 1.5),
    ),
  };
}

async function measureFilters(data) {
  const { orgId, siteId, groupId } = data.own;
  const filters = {
    none: {},
    orgId: { orgId },
    siteId: { orgId, siteId },
    groupIds: { groupIds: [groupId] },
    'status=maintenance': { status: 'maintenance' },
    'osType=macos': { osType: 'macos' },
    'role=server': { role: 'server' },
    'search in an organization': { orgId, search: 'pc-00' },
  };
  const times = await roundsOf(
    Object.fromEntries(
      Object.entries(filters).map(([name, filter]) => [name, () => list(data, { limit: 50 }, filter)]),
    ),
  );
  return { arms: Object.entries(times).map(([name, ms]) => ({ what: `page of 50, filter ${name}`, ms })), targets: [] };
}

/** Runs calls by turns. @returns the median of each in ms */
async function roundsOf(calls) {
  const times = Object.fromEntries(Object.keys(calls).map((name) => [name, []]));
  for (let round = -5; round < ROUNDS; round++) {
    for (const [name, call] of Object.entries(calls)) {
      const startedAt = performance.now();
      await call();
      if (round >= 0) times[name].push(performance.now() - startedAt);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}
