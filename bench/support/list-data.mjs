// The rows and the lists of `bench lists`, by service.
import { randomUUID } from 'node:crypto';
import { built, lib } from './built-code.mjs';

/** Organizations of the partner; callers with selected organizations have 1,000 of them. */
const OWN_ORGANIZATIONS = 2_000;
const SELECTED_ORGANIZATIONS = 1_000;
const ROWS_PER_ORGANIZATION = 20;
/** Deliveries of the webhook whose history is listed. */
const DELIVERIES = 20_000;

const { restrictToOrganization } = await lib('persistence');

/** Values of columns that have no default, by name; any other column of a table keeps its default. */
const VALUES = {
  id: 'gen_random_uuid()',
  delivery_id: 'gen_random_uuid()',
  name: `'Name ' || gen_random_uuid()`,
  name_key: 'gen_random_uuid()::text',
  slug: 'gen_random_uuid()::text',
  status: `'active'`,
  hostname: `'pc-' || o.n`,
  os_type: `'linux'`,
  key_prefix: `'rmm_'`,
  key_hash: 'sha256(gen_random_uuid()::text::bytea)',
  scopes: `'{}'`,
  rate_limit: '1000',
  expires_at: `now() + interval '1 day'`,
  url_sealed: `'sealed'`,
  events: `'{device.*}'`,
  event_type: `'device.online'`,
  event_id: 'gen_random_uuid()::text',
  attempts: '5',
  max_attempts: '5',
  email: `gen_random_uuid() || '@bench.test'`,
  created_at: `now() - o.n * interval '1 second'`,
  updated_at: 'now()',
  failed_at: `now() - o.n * interval '1 second'`,
  version: '1',
};

const md5 = (kind, id) => `md5('${kind}' || (${id})::text)::uuid`;
const FIRST = 'owner o WHERE o.is_first';
const USER = md5('user', 'o.org_id::text || o.n');
const ROLE = md5('role', 'o.partner_id');
const WEBHOOK = md5('webhook', 'o.org_id');

/** Inserts the `owner` rows (n, partner_id, org_id, site_id, is_first) into each table of a service, without its triggers. */
async function insertRows(admin, tables) {
  await admin.query('SET session_replication_role = replica');
  for (const { table, values = {}, from = 'owner o' } of tables) {
    const { rows } = await admin.query(
      `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema()
         AND table_name = $1 AND is_generated = 'NEVER'
         AND (column_name = ANY ($2) OR column_default IS NULL AND is_nullable = 'NO' OR column_name = 'created_at')`,
      [table, ['partner_id', 'org_id', 'site_id', ...Object.keys(values)]],
    );
    const names = rows.map(({ name }) => name);
    const expressionOf = (name) =>
      values[name] ?? (['partner_id', 'org_id', 'site_id'].includes(name) ? `o.${name}` : VALUES[name]);
    const missing = names.filter((name) => expressionOf(name) === undefined);
    if (missing.length > 0) throw new Error(`${table}: no value for ${missing.join(', ')}`);
    await admin.query(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.map(expressionOf).join(', ')} FROM ${from}
       ON CONFLICT DO NOTHING`,
    );
  }
  await admin.query('SET session_replication_role = DEFAULT');
}

/** Inserts the tenant of the callers: a partner with 2,000 organizations. */
export async function seedOwn(admin, service) {
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  const orgIds = [orgId, ...Array.from({ length: OWN_ORGANIZATIONS - 1 }, () => randomUUID())];
  await admin.query(
    `CREATE TEMP TABLE owner AS
     SELECT (o.nth - 1) * ${ROWS_PER_ORGANIZATION} + i AS n, $1::uuid AS partner_id, o.id AS org_id,
       ${md5('site', 'o.id')} AS site_id, i = 1 AS is_first
     FROM unnest($2::uuid[]) WITH ORDINALITY o(id, nth), generate_series(1, ${ROWS_PER_ORGANIZATION}) i`,
    [partnerId, orgIds],
  );
  const { tables, ownTables = [] } = TABLES[service];
  await insertRows(admin, [...tables, ...ownTables]);
  const { rows } = await admin.query(
    `SELECT site_id AS "siteId", ${md5('webhook', 'org_id')} AS "webhookId" FROM owner WHERE n = 1`,
  );
  return { partnerId, orgId, orgIds: orgIds.slice(0, SELECTED_ORGANIZATIONS), ...rows[0] };
}

/** Inserts rows of other tenants: partners of 100 organizations with 20 rows each. Many rows are indexed afterwards. */
export async function seedForeign(admin, service, rows) {
  await admin.query('DROP TABLE owner');
  await admin.query(
    `CREATE TEMP TABLE owner AS
     SELECT n, ${md5('partner', 'n / 2000')} AS partner_id, ${md5('org', 'n / 20')} AS org_id,
       ${md5('site', md5('org', 'n / 20'))} AS site_id, n % 20 = 0 AS is_first
     FROM generate_series(0, $1::integer - 1) n`,
    [rows],
  );
  const { tables } = TABLES[service];
  const createIndexes = await dropIndexes(
    admin,
    tables.map(({ table }) => table),
  );
  await insertRows(admin, tables);
  for (const statement of createIndexes) await admin.query(statement);
}

/** Drops the indexes that no constraint needs. @returns the statements that create them */
export async function dropIndexes(admin, tables) {
  const { rows } = await admin.query(
    `SELECT c.relname AS name, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') AS statement
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
     WHERE t.relnamespace = current_schema()::regnamespace AND t.relname = ANY ($1) AND NOT i.indisunique`,
    [tables],
  );
  for (const { name } of rows) await admin.query(`DROP INDEX ${name}`);
  await admin.query(`SET maintenance_work_mem = '512MB'`);
  return rows.map(({ statement }) => statement);
}

const repository = async (service, file, name, ...args) => new (await built(service, file))[name](...args);

/** Per service: the tables to fill, and its lists by name. */
export const TABLES = {
  provisioning: {
    tables: [
      { table: 'organization', values: { id: 'o.org_id' }, from: FIRST },
      { table: 'site', values: { id: 'CASE WHEN o.is_first THEN o.site_id ELSE gen_random_uuid() END' } },
      { table: 'device', values: { site_id: 'o.site_id' } },
      {
        table: 'device_state',
        values: { device_id: 'd.id', status: `'offline'`, partner_id: 'd.partner_id', org_id: 'd.org_id' },
        from: 'device d',
      },
    ],
    ownTables: [
      // Of another partner: the total of all tenants reaches its limit of 10,000 with few foreign rows too.
      {
        table: 'organization',
        values: { id: 'gen_random_uuid()', partner_id: md5('partner', 0) },
        from: 'owner o WHERE o.n % 4 = 0',
      },
    ],
    lists: async (tenants, worker, page) => {
      const config = { secrets: { keyRing: { keys: { k: 'a key of the benchmark' }, activeKid: 'k' } } };
      const file = (name) => `${name}/${name}.repository.js`;
      const devices = await repository('provisioning', file('devices'), 'DevicesRepository', tenants, worker, config);
      const sites = await repository('provisioning', file('sites'), 'SitesRepository', tenants, config);
      const organizations = await repository(
        'provisioning',
        file('organizations'),
        'OrganizationsRepository',
        tenants,
        config,
      );
      return {
        devices: (caller) => {
          const filter = { includeDecommissioned: false, allowedSiteIds: caller.siteIds, allowedGroupIds: null };
          return devices.list(caller, { filter, include: [] }, page);
        },
        sites: (caller) => sites.list(caller, { siteIds: caller.siteIds }, page),
        organizations: (caller) => organizations.list(caller, {}, page),
      };
    },
  },
  credentials: {
    tables: [
      { table: 'organization_directory', from: FIRST },
      { table: 'api_key' },
      { table: 'enrollment_key', values: { site_id: 'o.site_id' } },
    ],
    lists: async (tenants, worker, page) => {
      const keys = await repository(
        'credentials',
        'api-keys/api-keys.repository.js',
        'ApiKeysRepository',
        tenants,
        worker,
      );
      const enrollment = await repository(
        'credentials',
        'enrollment-keys/enrollment-keys.repository.js',
        'EnrollmentKeysRepository',
        tenants,
        worker,
      );
      return {
        'API keys': (caller) => keys.list(caller, page),
        'enrollment keys': (caller) => enrollment.list(caller, page),
      };
    },
  },
  identity: {
    tables: [
      { table: 'partner', values: { id: 'o.partner_id' }, from: FIRST },
      { table: 'role', values: { id: ROLE, scope: `'partner'` }, from: FIRST },
      { table: 'user_account', values: { id: USER } },
      { table: 'partner_membership', values: { user_id: USER, role_id: ROLE } },
      {
        table: 'organization_membership',
        values: { user_id: USER, role_id: ROLE, site_ids: 'ARRAY[o.site_id]' },
      },
      {
        table: 'member_count',
        values: { owner_id: 'o.partner_id', org_id: 'NULL', members: 'count(*)' },
        from: 'owner o GROUP BY o.partner_id',
      },
      {
        table: 'member_count',
        values: { owner_id: 'o.org_id', members: 'count(*)' },
        from: 'owner o GROUP BY o.partner_id, o.org_id',
      },
    ],
    lists: async (tenants, worker, page) => {
      const members = await repository(
        'identity',
        'members/members.repository.js',
        'MembersRepository',
        tenants,
        worker,
      );
      return {
        'users of a partner': {
          kinds: ['system', 'partner, all'],
          run: (caller, { partnerId }) => members.list(caller, { kind: 'partner', partnerId }, page),
        },
        'users of an organization': (caller, { partnerId, orgId }) =>
          members.list(caller, { kind: 'organization', partnerId, orgId }, page),
      };
    },
  },
  'webhook-dispatcher': {
    tables: [
      {
        table: 'webhook',
        values: { id: `CASE WHEN o.is_first THEN ${WEBHOOK} ELSE gen_random_uuid() END`, status: `'disabled'` },
      },
      {
        table: 'webhook_counter',
        values: { webhook_id: 'w.id', partner_id: 'w.partner_id', org_id: 'w.org_id' },
        from: 'webhook w',
      },
      { table: 'delivery', values: { webhook_id: WEBHOOK, status: `'delivered'` } },
    ],
    ownTables: [
      {
        table: 'delivery',
        values: {
          webhook_id: WEBHOOK,
          status: `'delivered'`,
          created_at: `now() - i * interval '1 second'`,
        },
        from: `owner o, generate_series(1, ${DELIVERIES}) i WHERE o.n = 1`,
      },
    ],
    lists: async (tenants, worker, page) => {
      const file = (name) => `${name}/${name}.repository.js`;
      const webhooks = await repository('webhook-dispatcher', file('webhooks'), 'WebhooksRepository', tenants);
      const deliveries = await repository('webhook-dispatcher', file('deliveries'), 'DeliveriesRepository', tenants);
      return {
        webhooks: (caller, { orgId }) => webhooks.list(caller, { orgId, page }),
        deliveries: async (caller, { webhookId }) => {
          const { orgId } = await webhooks.get(caller, webhookId);
          return deliveries.list(restrictToOrganization(caller, orgId), { webhookId }, page);
        },
      };
    },
  },
};
