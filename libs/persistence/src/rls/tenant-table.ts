import type { QueryRunner } from 'typeorm';
import { loginRoles } from '../migrations/login-roles.js';
import { quoteIdentifier as id, quoteLiteral } from './quote.js';
import {
  DEFAULT_COLUMNS,
  dualRule,
  organizationRule,
  partnerRule,
  type Rule,
  type TenantColumns,
  userRule,
} from './rules.js';
import { GLOBAL, WORKER_ONLY } from './table-markers.js';

export type Privilege = 'select' | 'insert' | 'update' | 'delete';
export type TableOwnership = 'organization' | 'partner' | 'dual' | 'user' | 'worker-only' | 'global';

export interface TenantTableOptions {
  /** Created before, in the service's own schema. */
  table: string;
  ownership: TableOwnership;
  /** The commands of the service login; none when absent. */
  service?: readonly Privilege[];
  /** The commands of the worker login, on all rows; none when absent. */
  worker?: readonly Privilege[];
  /** The owner's columns when not partner_id, org_id, user_id (the table `partner` itself: `{ partnerId: 'id' }`). */
  columns?: Partial<TenantColumns>;
  /** Conditions that replace those of the ownership, per command (users: also themselves). @see rules.ts */
  policies?: Partial<Record<Privilege, string>>;
}

export const PRIVILEGES = ['select', 'insert', 'update', 'delete'] as const satisfies readonly Privilege[];

/**
 * Makes a table a tenant table: row-level security enabled and forced, a policy for each of the four commands for the
 * service login (also for those it has no grant for, so that a later grant opens nothing by accident), policies over
 * all rows for just what the worker may do, and exactly these grants. To be called once, by the migration that created
 * the table. Dropping the table undoes it.
 * @throws Error when the connection was not opened by the migrations runner and does not know the role names
 */
export async function tenantTable(q: QueryRunner, options: TenantTableOptions): Promise<void> {
  const { table, ownership, service = [], worker = [] } = options;
  const roles = await loginRoles(q);
  assertSane(options);
  await q.query(`alter table ${id(table)} enable row level security, force row level security`);
  await q.query(`revoke all on ${id(table)} from public, ${id(roles.service)}, ${id(roles.worker)}`);
  if (isMarked(ownership)) {
    await q.query(`comment on table ${id(table)} is ${quoteLiteral(ownership === 'global' ? GLOBAL : WORKER_ONLY)}`);
    for (const command of service) await policy(q, table, 'service', roles.service, command, 'true');
  } else {
    const conditions = conditionsOf(ownership, { ...DEFAULT_COLUMNS, ...options.columns }, options.policies ?? {});
    for (const command of PRIVILEGES) await policy(q, table, 'service', roles.service, command, conditions[command]);
  }
  for (const command of worker) await policy(q, table, 'worker', roles.worker, command, 'true');
  await grant(q, table, service, roles.service);
  await grant(q, table, worker, roles.worker);
}

/**
 * Runs a data migration over all rows of forced tables: the owner login is bound by policies as well, and has none.
 * Inside the migration's transaction, so that no other session sees the tables unforced.
 */
export async function withoutForcedRowSecurity<T>(
  q: QueryRunner,
  tables: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  for (const table of tables) await q.query(`alter table ${id(table)} no force row level security`);
  const result = await work();
  for (const table of tables) await q.query(`alter table ${id(table)} force row level security`);
  return result;
}

type Marked = 'worker-only' | 'global';

function isMarked(ownership: TableOwnership): ownership is Marked {
  return ownership === 'worker-only' || ownership === 'global';
}

function assertSane({ table, ownership, service = [], policies }: TenantTableOptions): void {
  const allowed: readonly Privilege[] =
    ownership === 'worker-only' ? ['insert'] : ownership === 'global' ? ['select'] : PRIVILEGES;
  const excess = service.filter((privilege) => !allowed.includes(privilege));
  if (excess.length > 0)
    throw new Error(`${table} is ${ownership}: the service login may not ${excess.join(', ')} there`);
  if (isMarked(ownership) && policies !== undefined) throw new Error(`${table} is ${ownership}: it takes no policies`);
}

function conditionsOf(
  ownership: Exclude<TableOwnership, Marked>,
  columns: TenantColumns,
  own: Partial<Record<Privilege, string>>,
): Record<Privilege, string> {
  const rules: Record<typeof ownership, (columns: TenantColumns) => Rule> = {
    organization: organizationRule,
    partner: partnerRule,
    dual: dualRule,
    user: userRule,
  };
  const { read, write } = rules[ownership](columns);
  return { select: read, insert: write, update: write, delete: write, ...own };
}

async function policy(
  q: QueryRunner,
  table: string,
  login: 'service' | 'worker',
  role: string,
  command: Privilege,
  condition: string,
): Promise<void> {
  const using = command === 'insert' ? '' : ` using (${condition})`;
  const check = command === 'insert' || command === 'update' ? ` with check (${condition})` : '';
  await q.query(`create policy ${login}_${command} on ${id(table)} for ${command} to ${id(role)}${using}${check}`);
}

async function grant(q: QueryRunner, table: string, privileges: readonly Privilege[], role: string): Promise<void> {
  if (privileges.length === 0) return;
  await q.query(`grant ${privileges.join(', ')} on ${id(table)} to ${id(role)}`);
}
