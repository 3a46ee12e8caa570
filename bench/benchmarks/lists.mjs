// ./fleet bench lists: the first page of each list at 10 and at 1,000,000 rows of other tenants, for each kind of caller.
import { createRequire } from 'node:module';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { seedForeign, seedOwn, TABLES } from '../support/list-data.mjs';
import { isQuick } from '../support/quick.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const FOREIGN = isQuick ? 100_000 : 1_000_000;
const ROUNDS = isQuick ? 5 : 9;
const CALLS = 10;
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
  const { counted, lists } = await open(service, schema);
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
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const arm of arms) arm[size].push((await timeOf(arm.run)) / (await timeOf(() => admin.query('SELECT 1'))));
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
  return { counted, lists: await TABLES[service].lists(tenants, new WorkerDatabase(databases), PAGE) };
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

function print(arms) {
  const ratioOf = (arm) => median(arm.large) / median(arm.small);
  const targets = arms.map((arm) =>
    target(
      `${arm.list}, ${arm.kind}: ${FOREIGN.toLocaleString('en')} foreign rows against 10`,
      ratioOf(arm),
      '<=',
      1.5,
    ),
  );
  for (const all of arms.filter((arm) => arm.kind === 'partner, all')) {
    const selected = arms.find((arm) => arm.list === all.list && arm.kind.startsWith('partner, selected'));
    if (!selected) continue;
    targets.push(target(`${all.list}: selected against all`, median(selected.large) / median(all.large), '<=', 2));
  }
  const changed = arms.filter((arm) => arm.smallStatements !== arm.largeStatements).length;
  report(
    {
      name: 'lists',
      arms: arms.map((arm) => ({
        list: arm.list,
        caller: arm.kind,
        'x floor at 10': median(arm.small),
        'x floor at many': median(arm.large),
        'many / 10': ratioOf(arm),
        statements: arm.largeStatements,
      })),
      targets: [...targets, target('lists whose number of statements differs', changed, '<=', 0)],
      notes: [
        'The floor is SELECT 1 in the same round. The repositories of the services are called without HTTP.',
        'In system scope the total counts up to 10,000 rows of all tenants.',
      ],
    },
    process.argv,
  );
}
