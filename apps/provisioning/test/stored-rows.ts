import type pg from 'pg';

/** A stored row of a table that imports write, as text that differs after each write of it. */
export interface StoredRow {
  table: string;
  /** Id of the row; of a contact link, that of the contact. */
  id: string;
  orgId: string;
  text: string;
}

/**
 * Every column but `updated_at` of organizations and sites, which is also stamped in the background: their versions count
 * every write. For the others `xmin` does, which changes with a write of the same values too.
 */
const STATEMENT = `
  SELECT 'organization' AS table, t.id, t.id AS "orgId", (to_jsonb(t) - 'updated_at')::text AS text FROM organization t WHERE t.partner_id = $1
  UNION ALL
  SELECT 'site', t.id, t.org_id, (to_jsonb(t) - 'updated_at')::text FROM site t WHERE t.partner_id = $1
  UNION ALL
  SELECT 'external_link', t.id, t.org_id, t.xmin || ' ' || t::text FROM external_link t WHERE t.partner_id = $1
  UNION ALL
  SELECT 'contact', t.id, t.org_id, t.xmin || ' ' || t::text FROM contact t WHERE t.partner_id = $1
  UNION ALL
  SELECT 'contact_link', t.contact_id, t.org_id, t.xmin || ' ' || t::text FROM contact_link t WHERE t.partner_id = $1
  ORDER BY 1, 2, 4`;

/** Returns the rows of a partner that imports write. */
export async function storedRows(admin: pg.Client | pg.Pool, partnerId: string): Promise<StoredRow[]> {
  return (await admin.query<StoredRow>(STATEMENT, [partnerId])).rows;
}

/** Returns the rows that are new or were written since. */
export function changedRows(before: readonly StoredRow[], after: readonly StoredRow[]): StoredRow[] {
  const known = new Set(before.map(({ text }) => text));
  return after.filter(({ text }) => !known.has(text));
}
