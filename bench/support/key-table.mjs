import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';

const { DataSource, EntitySchema } = createRequire(import.meta.url)('typeorm');

export const KEY_TABLE = `create table bench_key (
  id uuid primary key default gen_random_uuid(), partner_id uuid not null, org_id uuid not null,
  key_hash bytea not null unique, scopes text[] not null, rate_limit integer not null, status text not null,
  expires_at timestamptz, created_by uuid, usage_count bigint not null default 0, last_used_at timestamptz)`;

/** The n-th key of the benchmark. */
export const keyOf = (n) => `svc_${String(n).padStart(32, 'k')}`;

/** Stores keys 1 to `count` of one organization; the limit of the first is `firstLimit`, that of the others the highest there is. */
export async function insertKeys(admin, { partnerId, orgId }, count, firstLimit) {
  const hashes = Array.from({ length: count }, (_, n) =>
    createHash('sha256')
      .update(keyOf(n + 1))
      .digest(),
  );
  await admin.query(
    `insert into bench_key (partner_id, org_id, key_hash, scopes, rate_limit, status, created_by)
     select $3, $4, hash, '{devices:read}', case when n = 1 then $2::integer else 100000 end,
       'active', gen_random_uuid()
     from unnest($1::bytea[]) with ordinality as hashes(hash, n)`,
    [hashes, firstLimit, partnerId, orgId],
  );
  await admin.query('analyze bench_key');
}

/** Look-up and counters of the stored keys, in prepared statements. */
export class BenchKeys {
  constructor(worker) {
    this.worker = worker;
  }

  async find(keyHash) {
    const [row] = await this.worker.query(
      `select id, partner_id, org_id, scopes, rate_limit, status, expires_at, created_by from bench_key
       where key_hash = $1`,
      [keyHash],
    );
    return row
      ? {
          kind: 'api_key',
          keyId: row.id,
          orgId: row.org_id,
          partnerId: row.partner_id,
          scopes: row.scopes,
          rateLimit: row.rate_limit,
          expiresAt: row.expires_at,
          status: row.status,
          createdBy: row.created_by,
          principalId: null,
          sourceCidrs: [],
          siteIds: null,
          deviceGroupIds: null,
          generation: 1,
        }
      : null;
  }

  countUse(id) {
    return this.worker.query('update bench_key set usage_count = usage_count + 1, last_used_at = now() where id = $1', [
      id,
    ]);
  }

  /** Locks the rows in the order of their ids, as credentials does. */
  async countUses(uses) {
    const rows = await this.worker.query(
      `with used as (
         select * from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as u(id, count, last_used_at)
       ), locked as (select id from bench_key where id in (select id from used) order by id for update)
       update bench_key k set usage_count = k.usage_count + used.count,
         last_used_at = greatest(k.last_used_at, used.last_used_at)
       from used join locked using (id) where k.id = used.id returning k.id`,
      [uses.map((use) => use.keyId), uses.map((use) => use.count), uses.map((use) => use.lastUsedAt)],
    );
    return rows.length;
  }
}

const column = (name, type, more = {}) => ({ name, type, ...more });
const KEY_ENTITY = new EntitySchema({
  name: 'BenchKey',
  tableName: 'bench_key',
  columns: {
    keyId: column('id', 'uuid', { primary: true }),
    partnerId: column('partner_id', 'uuid'),
    orgId: column('org_id', 'uuid'),
    keyHash: column('key_hash', 'bytea'),
    scopes: column('scopes', 'text', { array: true }),
    rateLimit: column('rate_limit', 'integer'),
    status: column('status', 'text'),
    expiresAt: column('expires_at', 'timestamptz', { nullable: true }),
    createdBy: column('created_by', 'uuid', { nullable: true }),
    usageCount: column('usage_count', 'bigint'),
    lastUsedAt: column('last_used_at', 'timestamptz', { nullable: true }),
  },
});

/** Look-up and counters through TypeORM's repository, as in most Nest applications. */
export class OrmKeys {
  static async connect(url, schema, poolSize) {
    const source = new DataSource({ type: 'postgres', url, schema, poolSize, entities: [KEY_ENTITY] });
    const keys = new OrmKeys();
    keys.repository = (await source.initialize()).getRepository('BenchKey');
    return keys;
  }

  find(keyHash) {
    return this.repository.findOneBy({ keyHash });
  }

  countUse(keyId) {
    return this.repository.update({ keyId }, { usageCount: () => 'usage_count + 1', lastUsedAt: new Date() });
  }

  async onApplicationShutdown() {
    await this.repository.manager.connection.destroy();
  }
}
