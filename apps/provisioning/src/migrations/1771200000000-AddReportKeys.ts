import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Texts in place of a serial number, as vendors leave them in the firmware; in the form of a key. */
const NO_SERIAL_NUMBER =
  '{TOBEFILLEDBYOEM,TOBEFILLEDBYOEMS,SYSTEMSERIALNUMBER,CHASSISSERIALNUMBER,BASEBOARDSERIALNUMBER,SERIALNUMBER,DEFAULTSTRING,NONE,"NULL",EMPTY,UNKNOWN,UNDEFINED,INVALID,NOTAPPLICABLE,NOTAVAILABLE,NOTSPECIFIED,NOTPROVIDED,0123456789,123456789,1234567890,01234567890123456789AB}';

/** Addresses that drivers of VPN and dial-up adapters give to every computer; in the form of a key. */
const SHARED_ADDRESSES = '{00059a3c7800,00059a3c7a00,00090ffe0001,00090faa0001,204153594eff,505054503030}';

const REPORTS = ['device_hardware', 'device_disk', 'device_network', 'device_software', 'device_posture'];

/**
 * Adds the keys by which devices of one machine are found, computed by the database, and to each report the SHA-256 of its
 * contents. May run again after a failure.
 */
export class AddReportKeys1771200000000 implements MigrationInterface {
  name = 'AddReportKeys1771200000000';
  transaction = false; // CREATE INDEX CONCURRENTLY runs outside of a transaction

  async up(q: QueryRunner): Promise<void> {
    // Letters and digits in upper case; null for a placeholder, for one repeated character, and below four characters.
    await q.query(`CREATE OR REPLACE FUNCTION device_serial_key(hardware jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN length(k) >= 4 AND k !~ '^(.)\\1*$' AND k <> ALL ('${NO_SERIAL_NUMBER}'::text[]) THEN left(k, 255) END
        FROM (SELECT upper(regexp_replace(hardware ->> 'serialNumber', '[^A-Za-z0-9]', '', 'g')) AS k) AS serial
    $$`);
    // The first usable address of the primary adapter, else of any: 12 lower-case hex digits. An address that its software
    // made up (the bit "locally administered", as of containers and private Wi-Fi) identifies no machine.
    await q.query(`CREATE OR REPLACE FUNCTION device_mac_key(adapters jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT k FROM (
        SELECT lower(regexp_replace(a.value ->> 'macAddress', '[^0-9A-Fa-f]', '', 'g')) AS k,
               coalesce(a.value -> 'isPrimary' = 'true', false) AS is_primary, a.ordinality
          FROM jsonb_array_elements(adapters) WITH ORDINALITY AS a) AS adapter
       WHERE k ~ '^[0-9a-f][048c][0-9a-f]{10}$' AND k <> '000000000000' AND k <> ALL ('${SHARED_ADDRESSES}'::text[])
       ORDER BY is_primary DESC, ordinality LIMIT 1
    $$`);
    const keys: Record<string, string> = {
      device_hardware: `, ADD COLUMN IF NOT EXISTS serial_key text GENERATED ALWAYS AS (device_serial_key(hardware)) STORED`,
      device_network: `, ADD COLUMN IF NOT EXISTS mac_key text GENERATED ALWAYS AS (device_mac_key(adapters)) STORED`,
    };
    for (const table of REPORTS) {
      await q.query(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS content_hash bytea
        CHECK (octet_length(content_hash) = 32)${keys[table] ?? ''}`);
    }
    for (const [table, key] of Object.entries({ device_hardware: 'serial_key', device_network: 'mac_key' })) {
      await q.query(`DROP INDEX IF EXISTS ${table}_${key}_idx`); // left invalid by a run that failed
      await q.query(
        `CREATE INDEX CONCURRENTLY ${table}_${key}_idx ON ${table} (org_id, ${key}, device_id) WHERE ${key} IS NOT NULL`,
      );
    }
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE device_hardware DROP COLUMN serial_key');
    await q.query('ALTER TABLE device_network DROP COLUMN mac_key');
    for (const table of REPORTS) await q.query(`ALTER TABLE ${table} DROP COLUMN content_hash`);
    await q.query('DROP FUNCTION device_serial_key, device_mac_key');
  }
}
