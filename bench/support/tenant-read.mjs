import { createRequire } from 'node:module';
import { lib } from './built-code.mjs';
import { median } from './report.mjs';

const pg = createRequire(import.meta.url)('pg');
const CALLERS = 8;
const ROUNDS = 7;
const SECONDS = 1;

/**
 * Measures one row by id through `tenants.read` against the same select on a copy of the table without row-level security, both
 * prepared, on the same pool.
 * @returns {Promise<{ arms: { name: string, perSecond: number }[], ratio: number, roundTrips: number }>}
 */
export async function measureTenantRead({ url, adminUrl, rowId, partnerId }) {
  const { TenantDatabase } = await lib('persistence');
  await copyWithoutRowSecurity(adminUrl, new URL(url).username);
  const pool = new pg.Pool({ connectionString: url, max: CALLERS, options: '-c search_path=identity' });
  const tenants = new TenantDatabase({ servicePool: pool, platformPool: pool });
  const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };
  const plain = { name: 'plain', text: 'select id, name, status from bench_plain where id = $1', values: [rowId] };
  const readPlain = async () => (await pool.query(plain)).rows;
  const readTenant = () => tenants.read({ tenant }, 'select id, name, status from bench_row where id = $1', [rowId]);
  try {
    for (const read of [readPlain, readTenant]) {
      const rows = await read();
      if (rows.length !== 1) throw new Error(`${rows.length} rows instead of one`);
      await rate(read);
    }
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push([await rate(readPlain), await rate(readTenant)]);
    return {
      arms: [
        { name: 'SQL plain select by id', perSecond: median(rounds.map(([without]) => without)) },
        { name: 'SQL through tenants.read', perSecond: median(rounds.map(([, through]) => through)) },
      ],
      ratio: median(rounds.map(([without, through]) => through / without)),
      roundTrips: await roundTripsOf(pool, readTenant),
    };
  } finally {
    await pool.end();
  }
}

async function copyWithoutRowSecurity(adminUrl, login) {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query('create table identity.bench_plain as select * from identity.bench_row');
  await admin.query('alter table identity.bench_plain add primary key (id)');
  await admin.query(`grant select on identity.bench_plain to "${login}"`);
  await admin.query('analyze identity.bench_plain');
  await admin.query('analyze identity.bench_row');
  await admin.end();
}

async function rate(read) {
  const startedAt = performance.now();
  const until = startedAt + SECONDS * 1000;
  let count = 0;
  const caller = async () => {
    while (performance.now() < until) {
      await read();
      count++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return count / ((performance.now() - startedAt) / 1000);
}

/** Counts round trips: each ReadyForQuery ends one. */
async function roundTripsOf(pool, read) {
  let count = 0;
  const clients = await Promise.all(Array.from({ length: CALLERS }, () => pool.connect()));
  const onReady = () => count++;
  for (const client of clients) client.connection.on('readyForQuery', onReady);
  for (const client of clients) client.release();
  await read();
  for (const client of clients) client.connection.off('readyForQuery', onReady);
  return count;
}
