// The rows and the lists of `bench lists`, by service.
import { randomUUID } from 'node:crypto';
import { built } from './built-code.mjs';

const OWN_ORGANIZATIONS = 1_000;
const ROWS_PER_ORGANIZATION = 20;

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

/** Inserts a row of `owner` rows (n, partner_id, org_id, site_id) into each table of a service, without its triggers. */
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

/** Inserts the tenant of the callers: a partner with 1,000 organizations. */
export async function seedOwn(admin, service) {
  const [partnerId, siteId, parentId] = [randomUUID(), randomUUID(), randomUUID()];
  const orgIds = Array.from({ length: OWN_ORGANIZATIONS }, () => randomUUID());
  await admin.query(
    `CREATE TEMP TABLE owner AS
     SELECT row_number() OVER () AS n, $1::uuid AS partner_id, org_id, $3::uuid AS site_id, $4::uuid AS parent_id,
       row_number() OVER (PARTITION BY org_id) = 1 AS is_first
     FROM unnest($2::uuid[]) org_id, generate_series(1, ${ROWS_PER_ORGANIZATION})`,
    [partnerId, orgIds, siteId, parentId],
  );
  await insertRows(admin, TABLES[service].tables);
  return { partnerId, orgId: orgIds[0], orgIds, siteId, parentId };
}

/** Inserts rows of other tenants: partners of 100 organizations with 20 rows each. */
export async function seedForeign(admin, service, rows) {
  await admin.query('DROP TABLE owner');
  await admin.query(
    `CREATE TEMP TABLE owner AS
     SELECT n, md5('partner' || n / 2000)::uuid AS partner_id, md5('org' || n / 20)::uuid AS org_id,
       md5('site' || n / 20)::uuid AS site_id, md5('parent' || n / 2000)::uuid AS parent_id, n % 20 = 0 AS is_first
     FROM generate_series(1, $1::integer) n`,
    [rows],
  );
  await insertRows(admin, TABLES[service].tables);
}

const repository = async (service, file, name, ...args) => new (await built(service, file))[name](...args);
const FIRST = 'owner o WHERE o.is_first';

/** Per service: the tables to fill, and its lists by name. */
export const TABLES = {
  provisioning: {
    tables: [
      { table: 'organization', values: { id: 'o.org_id' }, from: FIRST },
      { table: 'site' },
      { table: 'device', values: { site_id: 'o.site_id' } },
      {
        table: 'device_state',
        values: { device_id: 'd.id', status: `'offline'`, partner_id: 'd.partner_id', org_id: 'd.org_id' },
        from: 'device d',
      },
    ],
    lists: async (tenants, worker, page) => {
      const config = { secrets: { keyRing: { keys: { k: 'a key of the benchmark' }, activeKid: 'k' } } };
      const file = (name) => `${name}/${name}.repository.js`;
      const devices = await repository('provisioning', file('devices'), 'DevicesRepository', tenants, worker, config);
      const sites = await repository('provisioning', file('sites'), 'SitesRepository', tenants, worker);
      const organizations = await repository('provisioning', file('organizations'), 'OrganizationsRepository', tenants);
      const order = { dir: 'desc' };
      return {
        devices: (caller) => {
          const filter = { includeDecommissioned: false, allowedSiteIds: caller.siteIds, allowedGroupIds: null };
          return devices.listNumbered(caller, { filter, order, include: [] }, page);
        },
        sites: (caller) => sites.list(caller, { siteIds: caller.siteIds }, page),
        organizations: (caller) => organizations.list(caller, {}, page),
      };
    },
  },
  credentials: {
    tables: [{ table: 'api_key' }, { table: 'enrollment_key' }, { table: 'service_principal' }],
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
      { table: 'role', values: { id: 'o.parent_id', scope: `'partner'` }, from: FIRST },
      { table: 'user_account', values: { id: `md5(o.org_id::text || o.n)::uuid` } },
      {
        table: 'partner_membership',
        values: { user_id: `md5(o.org_id::text || o.n)::uuid`, role_id: 'o.parent_id' },
      },
    ],
    lists: async (tenants, worker, page) => {
      const members = await repository('identity', 'members/members.repository.js', 'MembersRepository', tenants);
      return {
        users: (caller, { partnerId, orgId }) => {
          const isOrganization = caller.tenant.scope === 'organization';
          const scope = isOrganization ? { kind: 'organization', partnerId, orgId } : { kind: 'partner', partnerId };
          return members.list(caller, scope, page);
        },
      };
    },
  },
  'webhook-dispatcher': {
    tables: [
      { table: 'webhook', values: { id: 'o.parent_id' }, from: 'owner o WHERE o.n <= 1' },
      { table: 'webhook', values: { status: `'disabled'` } },
      {
        table: 'webhook_counter',
        values: { webhook_id: 'w.id', partner_id: 'w.partner_id', org_id: 'w.org_id' },
        from: 'webhook w',
      },
      { table: 'delivery', values: { webhook_id: 'o.parent_id', status: `'delivered'` } },
    ],
    lists: async (tenants, worker, page) => {
      const file = (name) => `${name}/${name}.repository.js`;
      const webhooks = await repository('webhook-dispatcher', file('webhooks'), 'WebhooksRepository', tenants);
      const deliveries = await repository('webhook-dispatcher', file('deliveries'), 'DeliveriesRepository', tenants);
      return {
        webhooks: (caller, { orgId }) => webhooks.list(caller, { orgId, page }),
        deliveries: (caller, { parentId }) => deliveries.list(caller, { webhookId: parentId }, page),
      };
    },
  },
};
