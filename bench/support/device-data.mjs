// The devices of one large partner, for benchmarks of device lists and of what is reported about devices.
import { randomUUID } from 'node:crypto';
import { dropIndexes } from './list-data.mjs';

const TABLES = ['device', 'device_state', 'device_group_member'];

/** One organization for each 1,000 devices, each with a site and a device group that has every tenth device. */
const ORGANIZATIONS = `
  CREATE TEMP TABLE owner AS
  SELECT n, gen_random_uuid() AS org_id, gen_random_uuid() AS site_id, gen_random_uuid() AS group_id
    FROM generate_series(1, $1::int) n`;
const OWNED = [
  `INSERT INTO organization (id, partner_id, name, name_key, slug, created_at, updated_at)
   SELECT org_id, $1::uuid, 'Customer ' || n, 'customer ' || n, 'customer-' || n, now(), now() FROM owner`,
  `INSERT INTO site (id, partner_id, org_id, name, name_key, created_at, updated_at)
   SELECT site_id, $1::uuid, org_id, 'Site', 'site', now(), now() FROM owner`,
  `INSERT INTO device_group (id, partner_id, org_id, name, name_key, created_at, updated_at)
   SELECT group_id, $1::uuid, org_id, 'Group', 'group', now(), now() FROM owner`,
];
const DEVICES = `
  INSERT INTO device (partner_id, org_id, site_id, hostname, os_type, device_role, enrolled_at, created_at, updated_at)
  SELECT $1::uuid, o.org_id, o.site_id, 'pc-' || md5(i::text), (ARRAY['windows', 'windows', 'macos', 'linux'])[1 + i % 4],
         CASE i % 20 WHEN 0 THEN 'server' ELSE 'workstation' END, now() - i * interval '1 second',
         now() - i * interval '1 second', now()
    FROM generate_series(1, $2::int) AS s(i) JOIN owner o ON o.n = 1 + i % $3::int`;
const STATES = `
  INSERT INTO device_state (device_id, partner_id, org_id, status, agent_version, last_seen_at, offline_check_at)
  SELECT id, partner_id, org_id, CASE WHEN random() < 0.9 THEN 'online' WHEN random() < 0.9 THEN 'offline' ELSE 'maintenance' END,
         '1.0', now() - random() * interval '20 days', now() + interval '1 hour' FROM device`;
const MEMBERS = `
  INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
  SELECT o.group_id, d.id, d.partner_id, d.org_id FROM device d JOIN owner o USING (org_id) WHERE random() < 0.1`;

/**
 * Inserts the devices of a partner without triggers, and builds the indexes afterwards.
 * @param {{ query: Function }} admin  a connection of the administrator, with the schema of provisioning in its path
 * @param {number} devices  how many
 * @returns {Promise<{ partnerId: string, orgId: string, siteId: string, groupId: string }>} the ids of one organization
 */
export async function seedDevices(admin, devices) {
  const partnerId = randomUUID();
  const organizations = Math.ceil(devices / 1_000);
  const createIndexes = await dropIndexes(admin, TABLES);
  await admin.query('SET session_replication_role = replica');
  await admin.query(ORGANIZATIONS.replace('$1', String(organizations)));
  for (const statement of OWNED) await admin.query(statement, [partnerId]);
  await admin.query(DEVICES, [partnerId, devices, organizations]);
  await admin.query(STATES);
  await admin.query(MEMBERS);
  await admin.query('SET session_replication_role = DEFAULT');
  for (const statement of createIndexes) await admin.query(statement);
  await admin.query('VACUUM ANALYZE');
  const { rows } = await admin.query(
    'SELECT org_id AS "orgId", site_id AS "siteId", group_id AS "groupId" FROM owner WHERE n = 1',
  );
  return { partnerId, ...rows[0] };
}
