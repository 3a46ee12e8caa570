import type { UserCaller } from '@rmm/access';
import type { TenantDatabase } from '@rmm/persistence';
import type { PageQueryDto } from '@rmm/service-kit';

/** What a list shows: constant texts of SQL. */
export interface Listed {
  table: string;
  columns: string;
  /** Over `$1`, `$2` and so on: one for each of the parameters it is read with. */
  filter: string;
}

/** A page, newest first, and how many there are in all. */
export async function newestPage<Row>(
  tenants: TenantDatabase,
  caller: UserCaller,
  { table, columns, filter }: Listed,
  params: readonly unknown[],
  { page, limit }: PageQueryDto,
): Promise<{ rows: Row[]; total: number }> {
  const matching = `FROM ${table} WHERE ${filter}`;
  const part = `LIMIT $${params.length + 1} OFFSET $${params.length + 2}`;
  const [rows, [count]] = await Promise.all([
    tenants.read<Row>(caller, `SELECT ${columns} ${matching} ORDER BY created_at DESC, id DESC ${part}`, [
      ...params,
      limit,
      (page - 1) * limit,
    ]),
    tenants.read<{ total: number }>(caller, `SELECT count(*)::int AS total ${matching}`, params),
  ]);
  return { rows, total: count?.total ?? 0 };
}
