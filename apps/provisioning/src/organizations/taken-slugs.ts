import type { SqlExecutor } from '@rmm/persistence';

/**
 * The slugs of a partner's live organizations that could be in the way.
 * @param bases as `slugBases` gives them
 */
export async function takenSlugs(tx: SqlExecutor, partnerId: string, bases: string[]): Promise<Set<string>> {
  const rows = await tx.query<{ slug: string }>(
    `select slug from organization where partner_id = $1 and deleted_at is null and slug_base = any ($2::text[])`,
    [partnerId, bases],
  );
  return new Set(rows.map((row) => row.slug));
}
