import type { OrganizationState } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';
import type { DirectoryOrganization } from './directory-organization.js';

const COLUMNS = `org_id as "orgId", partner_id as "partnerId", name, slug, status, deleted, version`;

/** Sorted by id, so that two writers of the same rows never wait for each other in a circle. */
const UPSERT = `
  insert into organization_directory as d (org_id, partner_id, name, slug, status, deleted, version)
  select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[])
  on conflict (org_id) do update
    set partner_id = excluded.partner_id, name = excluded.name, slug = excluded.slug, status = excluded.status,
        deleted = excluded.deleted, version = excluded.version, updated_at = now()
    where d.version < excluded.version`;

/** The rows of `organization_directory`, under the worker login. */
export const organizationRows = {
  async find(db: SqlExecutor, orgId: string): Promise<DirectoryOrganization | null> {
    const [row] = await db.query<Omit<DirectoryOrganization, 'version'> & { version: string }>(
      `select ${COLUMNS} from organization_directory where org_id = $1`,
      [orgId],
    );
    return row ? { ...row, version: Number(row.version) } : null;
  },

  /** Takes in what is newer than the row it meets; older versions change nothing. */
  async upsert(db: SqlExecutor, facts: readonly OrganizationState[]): Promise<void> {
    const newest = new Map<string, OrganizationState>();
    for (const fact of facts) if ((newest.get(fact.orgId)?.version ?? -1) < fact.version) newest.set(fact.orgId, fact);
    const rows = [...newest.values()].sort((a, b) => (a.orgId < b.orgId ? -1 : 1));
    if (rows.length === 0) return;
    const column = <K extends keyof OrganizationState>(name: K) => rows.map((row) => row[name]);
    await db.query(UPSERT, [
      column('orgId'),
      column('partnerId'),
      column('name'),
      column('slug'),
      column('status'),
      column('deleted'),
      column('version'),
    ]);
  },

  async isEmpty(db: SqlExecutor): Promise<boolean> {
    return (await db.query('select 1 as one from organization_directory limit 1')).length === 0;
  },
};
