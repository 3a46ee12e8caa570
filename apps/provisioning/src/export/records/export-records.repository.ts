import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { PublishedRecord } from './record-message.js';

/** Existence of the tenant, the site and the device of a record; true for those it does not name. */
export interface RecordOwners {
  hasTenant: boolean;
  hasSite: boolean;
  hasDevice: boolean;
}

type Keys = Pick<PublishedRecord, 'partnerId' | 'orgId' | 'siteId' | 'deviceId'>;

const OWNERS = `
  SELECT CASE WHEN :orgId::uuid IS NULL
              THEN EXISTS (SELECT FROM partner_directory p WHERE p.partner_id = :partnerId)
              ELSE EXISTS (SELECT FROM organization o
                            WHERE o.id = :orgId AND o.partner_id = :partnerId AND o.erased_at IS NULL) END AS "hasTenant",
         :siteId::uuid IS NULL OR EXISTS (SELECT FROM site s WHERE s.id = :siteId AND s.org_id = :orgId
                                             AND s.deleted_at IS NULL) AS "hasSite",
         :deviceId::uuid IS NULL OR EXISTS (SELECT FROM device d WHERE d.id = :deviceId AND d.org_id = :orgId
                                               AND d.decommissioned_at IS NULL) AS "hasDevice"`;

/** The lock keeps the device at its site until the record is stored with it. */
const SITE_OF_DEVICE = `SELECT site_id AS "siteId" FROM device WHERE id = :deviceId FOR SHARE`;

const STORE = `
  INSERT INTO export_record AS r (resource, id, partner_id, org_id, site_id, device_id, source_updated_at, record)
  VALUES (:resource, :id, :partnerId, :orgId, :siteId, :deviceId, :updatedAt, :record)
  ON CONFLICT (partner_id, resource, id) DO UPDATE
    SET org_id = excluded.org_id, site_id = excluded.site_id, device_id = excluded.device_id,
        source_updated_at = excluded.source_updated_at, record = excluded.record, deleted_at = NULL,
        created_at = CASE WHEN r.deleted_at IS NULL THEN r.created_at
                          ELSE date_trunc('milliseconds', clock_timestamp()) END
    WHERE r.source_updated_at < excluded.source_updated_at
  RETURNING 1 AS one`;

/**
 * SQL: a report of the same record is exported again, as is another record of the same device. Without a report the row
 * remains, so that older messages are dropped that arrive later.
 */
const REMOVE = `
  WITH removed AS (
    INSERT INTO export_record AS r (resource, id, partner_id, org_id, source_updated_at, deleted_at)
    VALUES (:resource, :id, :partnerId, :orgId, :updatedAt, clock_timestamp())
    ON CONFLICT (partner_id, resource, id) DO UPDATE
      SET record = NULL, source_updated_at = excluded.source_updated_at,
          deleted_at = CASE WHEN r.reported THEN NULL ELSE excluded.deleted_at END
      WHERE r.source_updated_at < excluded.source_updated_at
    RETURNING r.record_key, r.device_id),
  others AS (
    UPDATE export_record s SET updated_at = clock_timestamp() FROM removed
     WHERE s.device_id = removed.device_id AND s.resource = :resource AND s.record_key <> removed.record_key
       AND s.deleted_at IS NULL)
  SELECT 1 AS one FROM removed`;

const PURGE = `
  DELETE FROM export_record WHERE record_key IN (
    SELECT record_key FROM export_record WHERE deleted_at < now() - make_interval(days => :days)
     ORDER BY deleted_at LIMIT :limit FOR UPDATE SKIP LOCKED)
  RETURNING 1 AS one`;

/** The records that other services publish, under the worker login: there is no caller. SQL: upserts by time. */
@Injectable()
export class ExportRecordsRepository {
  async findOwners(sql: SqlExecutor, { partnerId, orgId, siteId, deviceId }: Keys): Promise<RecordOwners> {
    const [owners] = await sql.query<RecordOwners>(OWNERS, { partnerId, orgId, siteId, deviceId });
    return owners ?? { hasTenant: false, hasSite: false, hasDevice: false };
  }

  /** Stores a record, with the site of its device. @returns false when a newer one is stored */
  async store(sql: SqlExecutor, { record, ...keys }: PublishedRecord): Promise<boolean> {
    const { deviceId } = keys;
    const [device] = deviceId === null ? [] : await sql.query<{ siteId: string | null }>(SITE_OF_DEVICE, { deviceId });
    const siteId = deviceId === null ? keys.siteId : (device?.siteId ?? null);
    const rows = await sql.query(STORE, { ...keys, siteId, record: JSON.stringify(record) });
    return rows.length > 0;
  }

  /** @returns false when a newer record is stored */
  async remove(sql: SqlExecutor, { resource, id, partnerId, orgId, updatedAt }: PublishedRecord): Promise<boolean> {
    return (await sql.query(REMOVE, { resource, id, partnerId, orgId, updatedAt })).length > 0;
  }

  /** Deletes up to a number of rows of records that were deleted so many days ago. @returns their number */
  async purge(sql: SqlExecutor, days: number, limit: number): Promise<number> {
    return (await sql.query(PURGE, { days, limit })).length;
  }
}
