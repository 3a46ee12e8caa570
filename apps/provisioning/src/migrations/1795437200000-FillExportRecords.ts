import type { MigrationInterface, QueryRunner } from 'typeorm';

const BATCH = 5_000;

/** The rows that represent existing ones: the resource, its source `s` and the key of the source. */
const FILLS = [
  { resource: 'scripts', from: 'script s', key: 's.id', device: null },
  { resource: 'custom-fields', from: 'custom_field_definition s', key: 's.id', device: null },
  { resource: 'device-relationships', from: 'device s', key: 's.id', device: 's' },
  {
    resource: 'device-software',
    from: 'device_software r JOIN device s ON s.id = r.device_id',
    key: 's.id',
    device: 's',
  },
  {
    resource: 'device-inventory',
    from: 'device_hardware r JOIN device s ON s.id = r.device_id',
    key: 's.id',
    device: 's',
  },
  { resource: 'device-inventory', from: 'device_disk r JOIN device s ON s.id = r.device_id', key: 's.id', device: 's' },
  {
    resource: 'device-inventory',
    from: 'device_network r JOIN device s ON s.id = r.device_id',
    key: 's.id',
    device: 's',
  },
];

/** The tables that the owner login reads and writes here, to which policies apply as to every login. */
const TABLES = [
  ...['export_record', 'script', 'custom_field_definition', 'organization', 'site', 'device'],
  ...['device_hardware', 'device_disk', 'device_network', 'device_software'],
];

const INDEXES = [
  'device_org_export_idx ON device (org_id, id)',
  'device_org_changes_idx ON device (org_id, updated_at, id)',
  'device_site_export_idx ON device (site_id, id)',
  'device_site_changes_idx ON device (site_id, updated_at, id)',
  'custom_field_definition_changes_idx ON custom_field_definition (partner_id, updated_at, id)',
  'organization_visible_idx ON organization (partner_id, visible_at, id)',
];

/**
 * Adds the export records of existing scripts, definitions and devices in batches, and the indexes by which exports are
 * read. May run again after a failure.
 */
export class FillExportRecords1795437200000 implements MigrationInterface {
  name = 'FillExportRecords1795437200000';
  transaction = false; // one transaction for each batch; CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    for (const table of TABLES) {
      await q.query(`DROP POLICY IF EXISTS owner_fill ON ${table}`);
      await q.query(`CREATE POLICY owner_fill ON ${table} FOR ALL TO CURRENT_USER USING (true)`);
    }
    for (const fill of FILLS) await this.fill(q, fill);
    for (const table of TABLES) await q.query(`DROP POLICY owner_fill ON ${table}`);
    for (const index of INDEXES) {
      await q.query(`DROP INDEX IF EXISTS ${index.split(' ')[0]}`); // left invalid by a run that failed
      await q.query(`CREATE INDEX CONCURRENTLY ${index}`);
    }
  }

  async down(q: QueryRunner): Promise<void> {
    for (const index of INDEXES) await q.query(`DROP INDEX ${index.split(' ')[0]}`);
  }

  private async fill(q: QueryRunner, { resource, from, key, device }: (typeof FILLS)[number]): Promise<void> {
    const [site, deviceId] = device === null ? ['NULL::uuid', 'NULL::uuid'] : [`${device}.site_id`, `${device}.id`];
    for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
      const rows = (await q.query(
        `WITH batch AS (
           SELECT ${key} AS id, s.partner_id, s.org_id, ${site} AS site_id, ${deviceId} AS device_id
             FROM ${from} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${BATCH}),
         added AS (
           INSERT INTO export_record (resource, id, partner_id, org_id, site_id, device_id, source_updated_at, reported)
           SELECT '${resource}', id, partner_id, org_id, site_id, device_id, clock_timestamp(), true FROM batch
           ON CONFLICT DO NOTHING)
         SELECT max(id::text) AS last FROM batch`,
        [after],
      )) as { last: string | null }[];
      const last = rows[0]?.last ?? null;
      if (last === null) return;
      after = last;
    }
  }
}
