// ./fleet bench lists: the first page of each list at 10 and at 1,000,000 rows of other tenants, for each kind of caller.
import { createRequire } from 'node:module';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { seedForeign, seedOwn, TABLES } from '../support/list-data.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const FOREIGN = isQuick ? 100_000 : 1_000_000;
const ROUNDS = isQuick ? 5 : 9;
const CALLS = 10;
const WARM_UP_CALLS = 10;
/** The rows that a total counts at most and the organizations of the tenant; a list that reads more reads those of others. */
const MAX_OWN_ROWS = 10_001 + 2_000;
const PAGE = { page: 1, limit: 50 };
const SERVICES = ['provisioning', 'credentials', 'identity', 'webhook-dispatcher'];

const { stores, database, envOf } = await benchStores(SERVICES[0], SERVICES.slice(1));
const { Databases, TenantDatabase, WorkerDatabase } = await lib('persistence');
const opened = [];

try {
  const arms = [];
  for (const service of SERVICES) arms.push(...(await armsOf(service)));
  print(arms);
} finally {
  for (const close of opened.reverse()) await close();
  await stores.stop();
}

/** Measures the lists of one service: first with few rows of other tenants, then with many. */
async function armsOf(service) {
  const schema = service.replaceAll('-', '_');
  const admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });
  await admin.connect();
  opened.push(() => admin.end());
  const { counted, lists, pools } = await open(service, schema);
  const own = await seedOwn(admin, service);
  const callers = callersOf(own);
  const arms = [];
  for (const [name, list] of Object.entries(lists)) {
    const { run = list, kinds = Object.keys(callers) } = list;
    for (const [kind, caller] of Object.entries(callers)) {
      if (!kinds.includes(kind)) continue;
      arms.push({ service, list: name, kind, run: () => run(caller, own), small: [], large: [] });
    }
  }
  for (const size of ['small', 'large']) {
    await seedForeign(admin, service, size === 'small' ? 10 : FOREIGN);
    await admin.query('VACUUM ANALYZE');
    for (const arm of arms) {
      counted.statements = 0;
      await arm.run();
      arm[`${size}Statements`] = counted.statements;
      arm[`${size}Reads`] = await readsOf(admin, pools, arm.run);
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const arm of arms) arm[size].push(await timeOf(arm.run));
    }
  }
  return arms;
}

/** Opens the repositories of a service on its database, without HTTP. */
async function open(service, schema) {
  const env = envOf(service);
  const { ENTITIES: entities } = await built(service, 'entities.js');
  const { MIGRATIONS } = await built(service, 'migrations/index.js');
  const config = {
    service,
    databaseUrl: env.DATABASE_URL,
    workerDatabaseUrl: env.WORKER_DATABASE_URL,
    migrationsDatabaseUrl: env.MIGRATIONS_DATABASE_URL,
    pools: { serviceMax: 4, workerMax: 2 },
  };
  const databases = await Databases.open({ config, schema, entities, migrations: MIGRATIONS });
  opened.push(() => databases.close());
  const tenants = new TenantDatabase(databases);
  const readAll = tenants.readAll.bind(tenants);
  const counted = { statements: 0 };
  tenants.readAll = (caller, selects) => {
    counted.statements += selects.length;
    return readAll(caller, selects);
  };
  const pools = [databases.servicePool, databases.platformPool];
  return { counted, pools, lists: await TABLES[service].lists(tenants, new WorkerDatabase(databases), PAGE) };
}

function callersOf({ partnerId, orgId, orgIds, siteId }) {
  const callerOf = (tenant, more) => ({
    userId: orgId,
    siteIds: null,
    deviceGroupIds: null,
    ...more,
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null, ...tenant },
  });
  const organization = { scope: 'organization', orgId, orgAccess: 'none' };
  return {
    system: callerOf({ scope: 'system', partnerId: null, orgAccess: 'none' }),
    'partner, all': callerOf({}),
    'partner, selected 1,000': callerOf({ orgAccess: 'selected', orgIds }),
    organization: callerOf(organization),
    'one site': callerOf(organization, { siteIds: [siteId] }),
  };
}

/**
 * Returns what one call reads from the tables of the schema and their indexes: pages (of 8 KB) and rows. Both are counters
 * of PostgreSQL, which other work on the machine does not change.
 */
async function readsOf(admin, pools, call) {
  for (let i = 0; i < WARM_UP_CALLS; i++) await call(); // PostgreSQL plans a prepared statement for its values five times
  const before = await readCounters(admin, pools);
  for (let i = 0; i < CALLS; i++) await call();
  const after = await readCounters(admin, pools);
  return { pages: (after.pages - before.pages) / CALLS, rows: (after.rows - before.rows) / CALLS };
}

async function readCounters(admin, pools) {
  for (const pool of pools) await flushStatistics(pool);
  await admin.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await admin.query(
    `SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::float AS pages,
       sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float AS rows
     FROM pg_statio_user_tables JOIN pg_stat_user_tables USING (relid) WHERE pg_stat_user_tables.schemaname = current_schema()`,
  );
  return rows[0];
}

/** Makes each connection report its counters, which it does once a second otherwise. */
async function flushStatistics(pool) {
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const client of clients) await client.query('SELECT pg_stat_force_next_flush()');
  for (const client of clients) client.release();
}

/** Returns the median of sequential calls in ms. */
async function timeOf(call) {
  const taken = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await call();
    taken.push(performance.now() - startedAt);
  }
  return median(taken);
}

/** Minutes pass between the two sizes, with other load: a median would compare loads. */
function best(rounds) {
  return Math.min(...rounds);
}

function print(arms) {
  const ratioOf = (arm) => best(arm.large) / best(arm.small);
  const targets = arms.flatMap((arm) => {
    const { smallReads, largeReads } = arm;
    const name = (what) =>
      `${arm.list}, ${arm.kind}: ${what} at ${FOREIGN.toLocaleString('en')} foreign rows against 10`;
    // Two plans of one cost may read an organization for each row, or those of the tenant once.
    const mayRead = Math.max(1.5, MAX_OWN_ROWS / smallReads.rows);
    return [
      target(name('rows'), largeReads.rows / smallReads.rows, '<=', Number(mayRead.toFixed(2))),
      target(name('time'), ratioOf(arm), '<=', 1.5),
    ];
  });
  for (const all of arms.filter((arm) => arm.kind === 'partner, all')) {
    const selected = arms.find((arm) => arm.list === all.list && arm.kind.startsWith('partner, selected'));
    if (!selected) continue;
    targets.push(target(`${all.list}: selected against all`, best(selected.large) / best(all.large), '<=', 2));
  }
  const changed = arms.filter((arm) => arm.smallStatements !== arm.largeStatements).length;
  report(
    {
      name: 'lists',
      arms: arms.map((arm) => ({
        list: arm.list,
        caller: arm.kind,
        'ms at 10': best(arm.small),
        'ms at many': best(arm.large),
        'many / 10': ratioOf(arm),
        'pages at 10': arm.smallReads.pages,
        'pages at many': arm.largeReads.pages,
        'rows at 10': arm.smallReads.rows,
        'rows at many': arm.largeReads.rows,
        statements: arm.largeStatements,
      })),
      targets: [...targets, target('lists whose number of statements differs', changed, '<=', 0)],
      notes: [
        'Each figure is the best round, which other work on the machine disturbs least. The repositories of the services are called without HTTP.',
        'Pages (of 8 KB) and rows are what a call reads from tables and indexes, by the counters of PostgreSQL: they are the same in each run. An index over more rows has more levels.',
        'In system scope the total counts up to 10,000 rows of all tenants.',
      ],
    },
    process.argv,
  );
}
