import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { DirectoryPartner } from './directory-partner.js';
import {
  differsFromRow,
  replacesRow,
  TenantDirectoryRepository,
  type StoredEntry,
  type WrittenRow,
} from './tenant-directory.repository.js';

/** The columns that decide about access. */
const ACCESS_COLUMNS = ['status'];

/** Writes what decides about access. One statement for many rows, sorted by id, so that two writers cannot deadlock. */
const UPSERT_STATUS = `
  INSERT INTO partner_directory AS d (partner_id, status, version)
  SELECT * FROM unnest(:ids::uuid[], :statuses::text[], :versions::bigint[]) AS p(partner_id, status, version)
  WHERE ${differsFromRow('p', 'partner_directory', 'partner_id', ACCESS_COLUMNS)}
  ORDER BY partner_id
  ON CONFLICT (partner_id) DO UPDATE
    SET status = excluded.status, version = excluded.version, updated_at = now()
    WHERE ${replacesRow(ACCESS_COLUMNS)}
  RETURNING partner_id AS id, xmax = 0 AS "isNew"`;

const UPDATE_DETAILS = `
  UPDATE partner_directory d
  SET name = p.name, slug = p.slug, timezone = p.timezone, max_organizations = p.max_organizations,
      max_devices = p.max_devices, enrollment_max_ttl_minutes = p.enrollment_max_ttl_minutes
  FROM unnest(:ids::uuid[], :names::text[], :slugs::text[], :timezones::text[], :maxOrganizations::integer[],
      :maxDevices::integer[], :maxTtls::integer[])
    AS p(partner_id, name, slug, timezone, max_organizations, max_devices, enrollment_max_ttl_minutes)
  WHERE d.partner_id = p.partner_id`;

/** The table `partner_directory`, under the worker login. */
@Injectable()
export class PartnerDirectoryRepository extends TenantDirectoryRepository<DirectoryPartner> {
  constructor() {
    super('partner_directory', 'partner_id');
  }

  async list(db: SqlExecutor, ids: readonly string[]): Promise<StoredEntry<DirectoryPartner>[]> {
    const rows = await db.query<StoredEntry<DirectoryPartner> & { version: string }>(
      `SELECT partner_id AS "partnerId", name, slug, status, max_organizations AS "maxOrganizations",
         max_devices AS "maxDevices", enrollment_max_ttl_minutes AS "enrollmentMaxTtlMinutes", timezone, version
       FROM partner_directory WHERE partner_id = ANY (:ids::uuid[])`,
      { ids },
    );
    return rows.map((row) => ({ ...row, version: Number(row.version) }));
  }

  upsertStatus(db: SqlExecutor, rows: readonly DirectoryPartner[], readSeconds: number | null): Promise<WrittenRow[]> {
    return db.query<WrittenRow>(UPSERT_STATUS, {
      ids: rows.map(({ partnerId }) => partnerId),
      statuses: rows.map(({ status }) => status),
      versions: rows.map(({ version }) => version),
      readSeconds,
    });
  }

  async updateDetails(db: SqlExecutor, rows: readonly DirectoryPartner[]): Promise<void> {
    await db.query(UPDATE_DETAILS, {
      ids: rows.map(({ partnerId }) => partnerId),
      names: rows.map(({ name }) => name),
      slugs: rows.map(({ slug }) => slug),
      timezones: rows.map(({ timezone }) => timezone),
      maxOrganizations: rows.map(({ maxOrganizations }) => maxOrganizations),
      maxDevices: rows.map(({ maxDevices }) => maxDevices),
      maxTtls: rows.map(({ enrollmentMaxTtlMinutes }) => enrollmentMaxTtlMinutes),
    });
  }
}
