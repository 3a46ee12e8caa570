// The devices of many partners, for the benchmark of exports: one partner whose devices are exported, and others.
import { randomUUID } from 'node:crypto';
import { dropIndexes } from './list-data.mjs';

/** Every fifth device is one of these partners. */
const OTHER_PARTNERS = 20;
const DEVICES_OF_ORGANIZATION = 100;

/** The organizations of the exported partner have numbers from 1, those of the others from 0 down. */
const OWNERS = `
  CREATE TEMP TABLE owner AS
  SELECT n, gen_random_uuid() AS org_id, gen_random_uuid() AS site_id, gen_random_uuid() AS group_id,
         CASE WHEN n > 0 THEN $1::uuid ELSE ($2::uuid[])[1 - n] END AS partner_id
    FROM generate_series(1 - $3::int, $4::int) n`;
const OWNED = [
  `INSERT INTO organization (id, partner_id, name, name_key, slug, created_at, updated_at, visible_at)
   SELECT org_id, partner_id, 'Customer ' || n, 'customer ' || n, 'customer-' || n, now(), now(), now() FROM owner`,
  `INSERT INTO site (id, partner_id, org_id, name, name_key, created_at, updated_at)
   SELECT site_id, partner_id, org_id, 'Site', 'site', now(), now() FROM owner`,
  `INSERT INTO device_group (id, partner_id, org_id, name, name_key, created_at, updated_at)
   SELECT group_id, partner_id, org_id, 'Group', 'group', now(), now() FROM owner`,
];
const DEVICES = `
  INSERT INTO device (partner_id, org_id, site_id, hostname, display_name, os_type, os_version, architecture, device_role,
         is_virtual, tags, custom_fields, enrolled_at, created_at, updated_at)
  SELECT o.partner_id, o.org_id, o.site_id, 'pc-' || i, CASE i % 3 WHEN 0 THEN 'Workstation ' || i END,
         (ARRAY['windows', 'windows', 'macos', 'linux'])[1 + i % 4], '10.0.19045', 'amd64',
         CASE i % 20 WHEN 0 THEN 'server' ELSE 'workstation' END, i % 10 = 0,
         CASE i % 5 WHEN 0 THEN ARRAY['finance', 'floor-' || i % 9] ELSE '{}' END,
         CASE i % 4 WHEN 0 THEN jsonb_build_object('assetTag', 'A-' || i) ELSE '{}' END,
         now() - i % 100000 * interval '1 minute', now() - i % 100000 * interval '1 minute', now()
    FROM generate_series(1, $1::int) AS s(i)
    JOIN owner o ON o.n = CASE i % 5 WHEN 0 THEN -(i / 5 % $2::int) ELSE 1 + (i - i / 5) % $3::int END`;
const HARDWARE = `
  INSERT INTO device_hardware (device_id, partner_id, org_id, hardware, created_at, updated_at)
  SELECT id, partner_id, org_id, jsonb_build_object('serialNumber', 'SN-' || left(id::text, 8), 'manufacturer', 'Dell Inc.',
         'model', 'OptiPlex 7090', 'cpuModel', 'Core i5', 'ramTotalMb', 16384), now(), now() FROM device`;
const MEMBERS = `
  INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
  SELECT o.group_id, d.id, d.partner_id, d.org_id FROM device d JOIN owner o USING (org_id) WHERE random() < 0.1`;

/**
 * Inserts devices without triggers, and builds the indexes afterwards.
 * @param {{ query: Function }} admin  a connection of the administrator, with the schema of provisioning in its path
 * @param {number} size  the devices of the exported partner
 * @returns {Promise<{ partnerId: string, otherId: string, orgIds: string[] }>} the exported partner with its organizations,
 *   and one of the others
 */
export async function seedExport(admin, size) {
  const partnerId = randomUUID();
  const others = Array.from({ length: OTHER_PARTNERS }, () => randomUUID());
  const organizations = Math.ceil(size / DEVICES_OF_ORGANIZATION);
  const createIndexes = await dropIndexes(admin, ['device', 'device_hardware', 'device_group_member']);
  await admin.query('SET session_replication_role = replica');
  await admin.query(
    OWNERS.replace('$1', `'${partnerId}'`)
      .replace('$2', `'{${others.join()}}'`)
      .replace('$3', String(OTHER_PARTNERS))
      .replace('$4', String(organizations)),
  );
  for (const statement of OWNED) await admin.query(statement);
  await admin.query(DEVICES, [Math.ceil((size * 5) / 4), OTHER_PARTNERS, organizations]);
  await admin.query(HARDWARE);
  await admin.query(MEMBERS);
  await admin.query('SET session_replication_role = DEFAULT');
  for (const statement of createIndexes) await admin.query(statement);
  await admin.query('VACUUM ANALYZE');
  const { rows } = await admin.query('SELECT org_id AS id FROM owner WHERE n > 0 ORDER BY n');
  return { partnerId, otherId: others[0], orgIds: rows.map(({ id }) => id) };
}
