import { Injectable } from '@nestjs/common';
import type { OrganizationState } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';
import type { DirectoryOrganization } from './directory-organization.js';

const FIND = `
  SELECT org_id AS "orgId", partner_id AS "partnerId", name, slug, status, deleted, version
  FROM organization_directory WHERE org_id = $1`;

/** One statement for many rows. They are sorted by id, so that two writers of the same rows cannot deadlock. */
const UPSERT = `
  INSERT INTO organization_directory AS d (org_id, partner_id, name, slug, status, deleted, version)
  SELECT "orgId", "partnerId", name, slug, status, deleted, version
  FROM json_to_recordset($1::json) AS o("orgId" uuid, "partnerId" uuid, name text, slug text, status text,
    deleted boolean, version bigint)
  ON CONFLICT (org_id) DO UPDATE
    SET partner_id = excluded.partner_id, name = excluded.name, slug = excluded.slug, status = excluded.status,
        deleted = excluded.deleted, version = excluded.version, updated_at = now()
    WHERE d.version < excluded.version`;

/** The table `organization_directory`, under the worker login. */
@Injectable()
export class OrganizationDirectoryRepository {
  async find(db: SqlExecutor, orgId: string): Promise<DirectoryOrganization | null> {
    const [row] = await db.query<Omit<DirectoryOrganization, 'version'> & { version: string }>(FIND, [orgId]);
    return row ? { ...row, version: Number(row.version) } : null;
  }

  /** Stores the organizations; an older version than the stored one changes nothing. */
  async upsert(db: SqlExecutor, organizations: readonly OrganizationState[]): Promise<void> {
    const newest = new Map<string, OrganizationState>();
    for (const state of organizations) {
      if ((newest.get(state.orgId)?.version ?? -1) < state.version) newest.set(state.orgId, state);
    }
    const rows = [...newest.values()].sort((a, b) => (a.orgId < b.orgId ? -1 : 1));
    if (rows.length > 0) await db.query(UPSERT, [JSON.stringify(rows)]);
  }

  async isEmpty(db: SqlExecutor): Promise<boolean> {
    return (await db.query('SELECT 1 AS one FROM organization_directory LIMIT 1')).length === 0;
  }
}
