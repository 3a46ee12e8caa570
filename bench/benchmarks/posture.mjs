// ./fleet bench posture: the summary of the management posture over many reports, and what it costs to store a report.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const REPORTS = isQuick ? 20_000 : 100_000;
const ORGANIZATIONS = 200;
const SITE_DEVICES = 500;
const CALLS = isQuick ? 20 : 100;
const STORED = isQuick ? 200 : 2_000;
const CALLERS = 4;
/** The days since the latest scan: 90 % of the devices report daily, the others stopped within the last 60 days. */
const DAYS_AGO = `CASE WHEN n % 10 < 9 THEN random() ELSE random() * 60 END`;
const TOOLS = ['Datto RMM', 'NinjaOne', 'Atera', 'ScreenConnect'];

const { stores, database, schema, env } = await benchStores('provisioning');
const { Databases, TenantDatabase } = await lib('persistence');
const { ENTITIES } = await built('provisioning', 'entities.js');
const { MIGRATIONS } = await built('provisioning', 'migrations/index.js');
const { PostureRepository } = await built('provisioning', 'devices/posture/posture.repository.js');
const { ReportsRepository } = await built('provisioning', 'agents/reports/reports.repository.js');
const { readPosture } = await built('provisioning', 'agents/reports/posture-report.js');

const databases = await Databases.open({
  schema,
  entities: ENTITIES,
  migrations: MIGRATIONS,
  config: {
    service: 'provisioning',
    databaseUrl: env.DATABASE_URL,
    migrationsDatabaseUrl: env.MIGRATIONS_DATABASE_URL,
    workerDatabaseUrl: env.WORKER_DATABASE_URL,
    pools: { serviceMax: 8, workerMax: 2 },
  },
});
const admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });
await admin.connect();

try {
  const own = await seed();
  await seed(); // another partner of the same size, whose rows must cost nothing
  await admin.query('VACUUM ANALYZE');
  const tenants = new TenantDatabase(databases);
  const arms = await measureSummaries(new PostureRepository(tenants), own);
  const stored = await measureReports(tenants, new ReportsRepository(tenants), own);
  const { rows } = await admin.query('SELECT count(*)::int AS counters FROM posture_count WHERE partner_id = $1', [
    own.partnerId,
  ]);
  print(arms, stored, rows[0].counters);
} finally {
  await admin.end();
  await databases.close();
  await stores.stop();
}

/** Inserts the devices of a partner and their reports. Counters follow by the triggers of the reports. */
async function seed() {
  const partnerId = crypto.randomUUID();
  await admin.query(
    `INSERT INTO organization (partner_id, name, name_key, slug)
     SELECT $1::uuid, 'Customer ' || n, 'customer ' || n, 'customer-' || n FROM generate_series(1, $2::int) n`,
    [partnerId, ORGANIZATIONS],
  );
  await admin.query(
    `INSERT INTO site (partner_id, org_id, name, name_key) SELECT partner_id, id, 'Office', 'office' FROM organization
      WHERE partner_id = $1`,
    [partnerId],
  );
  await admin.query(
    `WITH numbered AS (
       SELECT o.id, s.id AS site_id, row_number() OVER () AS number
         FROM organization o JOIN site s ON s.org_id = o.id WHERE o.partner_id = $1::uuid),
     devices AS (
       INSERT INTO device (partner_id, org_id, site_id, hostname, os_type, enrolled_at)
       SELECT $1::uuid, o.id, o.site_id, 'pc-' || n, 'windows', now()
         FROM generate_series(1, $3::int) n JOIN numbered o ON o.number = 1 + n % $2::int RETURNING id, org_id)
     INSERT INTO device_state (device_id, partner_id, org_id, status, offline_check_at)
     SELECT id, $1::uuid, org_id, 'online', now() + interval '1 hour' FROM devices`,
    [partnerId, ORGANIZATIONS, REPORTS],
  );
  await admin.query(
    `INSERT INTO device_posture (device_id, partner_id, org_id, collected_at, detections)
     SELECT id, partner_id, org_id, now() - ${DAYS_AGO} * interval '1 day',
            CASE n % 3 WHEN 0 THEN '[]'::jsonb
              ELSE jsonb_build_array(jsonb_build_array('rmm', ($2::text[])[1 + n % 4], 'active'),
                                     jsonb_build_array('endpointSecurity', 'Defender', 'active')) END
       FROM (SELECT *, row_number() OVER () AS n FROM device WHERE partner_id = $1) d`,
    [partnerId, TOOLS],
  );
  const { rows } = await admin.query(
    `SELECT o.id AS "orgId", s.id AS "siteId", array(SELECT d.id FROM device d WHERE d.org_id = o.id) AS "deviceIds"
       FROM organization o JOIN site s ON s.org_id = o.id WHERE o.partner_id = $1 LIMIT 1`,
    [partnerId],
  );
  return { partnerId, ...rows[0] };
}

function callersOf({ partnerId, orgId }) {
  const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };
  return {
    partner: { tenant },
    organization: { tenant: { ...tenant, scope: 'organization', orgId, orgAccess: 'none' } },
  };
}

async function measureSummaries(posture, own) {
  const { partner, organization } = callersOf(own);
  const all = { category: 'rmm', stalenessDays: 7, siteIds: null, groupIds: null };
  const arms = [
    { arm: 'summary of the partner', run: () => posture.summarize(partner, all) },
    { arm: 'the same, 1 day', run: () => posture.summarize(partner, { ...all, stalenessDays: 1 }) },
    { arm: 'summary of one organization', run: () => posture.summarize(organization, all) },
    {
      arm: `one site, ${SITE_DEVICES} devices`,
      run: () => posture.summarize(organization, { ...all, siteIds: [own.siteId] }),
    },
    { arm: 'scan of the reports', run: () => scan(own.partnerId) },
  ];
  for (const arm of arms) {
    for (let call = 0; call < 10; call++) await arm.run(); // a prepared statement is planned for its values five times
    arm.ms = [];
    for (let call = 0; call < CALLS; call++) {
      const startedAt = performance.now();
      await arm.run();
      arm.ms.push(performance.now() - startedAt);
    }
  }
  return arms;
}

/** Reads the same numbers from the reports, without row-level security: what the counters replace. */
function scan(partnerId) {
  return admin.query(
    `SELECT r.org_id, k.category, k.product, k.status, count(*),
            count(*) FILTER (WHERE r.collected_at >= now() - interval '7 days')
       FROM device_posture r CROSS JOIN LATERAL posture_keys(r.detections) k
      WHERE r.partner_id = $1 AND k.category IN ('', 'rmm') GROUP BY 1, 2, 3, 4`,
    [partnerId],
  );
}

/** Stores reports of the devices of one organization, which share its counters. @returns reports per second and their times */
async function measureReports(tenants, reports, { partnerId, orgId, deviceIds }) {
  const { organization } = callersOf({ partnerId, orgId });
  const ms = [];
  let next = 0;
  const caller = async () => {
    while (next < STORED) {
      const number = next++;
      const agent = { ...organization, deviceId: deviceIds[number % deviceIds.length], orgId, partnerId };
      const rmm = [{ name: TOOLS[number % TOOLS.length], status: 'active' }];
      const body = readPosture({ collectedAt: new Date().toISOString(), categories: { rmm } });
      const startedAt = performance.now();
      await tenants.transaction(agent, (tx) => reports.storePosture(tx, agent, body));
      ms.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { rate: STORED / ((performance.now() - startedAt) / 1000), ms };
}

function print(arms, { rate, ms }, counters) {
  const p99 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)];
  report(
    {
      name: 'posture',
      arms: arms.map((each) => ({ arm: each.arm, 'median ms': median(each.ms), 'p99 ms': p99(each.ms) })),
      targets: [
        target(`summary over ${REPORTS.toLocaleString('en')} reports, median ms`, median(arms[0].ms), '<=', 50),
        target('the same, p99 ms', p99(arms[0].ms), '<=', 50),
      ],
      notes: [
        `${ORGANIZATIONS} organizations, ${REPORTS.toLocaleString('en')} reports, and as many of another partner; ${counters.toLocaleString('en')} counters of the partner.`,
        `Reports of one organization from ${CALLERS} callers: ${Math.round(rate)} a second, median ${median(ms).toFixed(1)} ms, p99 ${p99(ms).toFixed(1)} ms.`,
      ],
    },
    process.argv,
  );
}
