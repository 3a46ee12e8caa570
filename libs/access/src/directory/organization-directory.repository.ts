import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { DirectoryOrganization } from './directory-organization.js';
import {
  differsFromRow,
  replacesRow,
  TenantDirectoryRepository,
  type StoredEntry,
  type WrittenRow,
} from './tenant-directory.repository.js';

/** The columns that decide about access. */
const ACCESS_COLUMNS = ['partner_id', 'status', 'deleted'];

/** Writes what decides about access. One statement for many rows, sorted by id, so that two writers cannot deadlock. */
const UPSERT_STATUS = `
  INSERT INTO organization_directory AS d (org_id, partner_id, status, deleted, version)
  SELECT * FROM unnest(:ids::uuid[], :partnerIds::uuid[], :statuses::text[], :deleted::boolean[], :versions::bigint[])
    AS o(org_id, partner_id, status, deleted, version)
  WHERE ${differsFromRow('o', 'organization_directory', 'org_id', ACCESS_COLUMNS)}
  ORDER BY org_id
  ON CONFLICT (org_id) DO UPDATE
    SET partner_id = excluded.partner_id, status = excluded.status, deleted = excluded.deleted,
        version = excluded.version, updated_at = now()
    WHERE ${replacesRow(ACCESS_COLUMNS)}
  RETURNING org_id AS id, xmax = 0 AS "isNew"`;

const UPDATE_DETAILS = `
  UPDATE organization_directory d SET name = o.name, slug = o.slug
  FROM unnest(:ids::uuid[], :names::text[], :slugs::text[]) AS o(org_id, name, slug)
  WHERE d.org_id = o.org_id`;

/** The table `organization_directory`, under the worker login. */
@Injectable()
export class OrganizationDirectoryRepository extends TenantDirectoryRepository<DirectoryOrganization> {
  constructor() {
    super('organization_directory', 'org_id');
  }

  async list(db: SqlExecutor, ids: readonly string[]): Promise<StoredEntry<DirectoryOrganization>[]> {
    const rows = await db.query<StoredEntry<DirectoryOrganization> & { version: string }>(
      `SELECT org_id AS "orgId", partner_id AS "partnerId", name, slug, status, deleted, version
       FROM organization_directory WHERE org_id = ANY (:ids::uuid[])`,
      { ids },
    );
    return rows.map((row) => ({ ...row, version: Number(row.version) }));
  }

  upsertStatus(
    db: SqlExecutor,
    rows: readonly DirectoryOrganization[],
    readSeconds: number | null,
  ): Promise<WrittenRow[]> {
    return db.query<WrittenRow>(UPSERT_STATUS, {
      ids: rows.map(({ orgId }) => orgId),
      partnerIds: rows.map(({ partnerId }) => partnerId),
      statuses: rows.map(({ status }) => status),
      deleted: rows.map(({ deleted }) => deleted),
      versions: rows.map(({ version }) => version),
      readSeconds,
    });
  }

  async updateDetails(db: SqlExecutor, rows: readonly DirectoryOrganization[]): Promise<void> {
    await db.query(UPDATE_DETAILS, {
      ids: rows.map(({ orgId }) => orgId),
      names: rows.map(({ name }) => name),
      slugs: rows.map(({ slug }) => slug),
    });
  }
}
