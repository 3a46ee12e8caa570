import type { EntityTarget, FindOptionsWhere, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { BatchExecutor } from '../database/sql-executor.js';
import { Transaction } from '../database/transaction.js';
import type { ByteBudget } from '../paging/byte-budget.js';
import type { CursorBinding, Cursors } from '../paging/cursors.js';
import { keysetPage, type KeysetRows, type SortKey } from '../paging/keyset-page.js';
import { countMatching, type PageRequest, type PageRows, runPageStatements } from '../paging/list-page.js';
import { EntityMapping } from './entity-mapping.js';
import {
  hasManyOrganizations,
  type OwnerColumns,
  type RowOwnership,
  ownerCondition,
  type ReadPurpose,
} from './tenant-condition.js';
import { restrictToOrganization, type HasTenant } from './tenant-context.js';
import { TenantDatabase, TenantTransaction } from './tenant-database.service.js';

/** The name of a property of the entity. */
export type PropertyOf<E> = keyof E & string;

/** Equal to a value, to one of a list, or NULL for null. Properties that are undefined are left out. */
export type Where<E> = {
  readonly [P in keyof E]?: E[P] | null | (E[P] extends readonly unknown[] ? never : readonly E[P][]);
};

/** Values of columns: of their type, or SQL (`() => 'now()'`). Properties that are undefined are left out. */
export type Values<E> = { readonly [P in keyof E]?: E[P] | (() => string) };

/** A further condition: SQL with properties as `alias.property` and values as `:name`. Constant text. */
export interface Condition {
  sql: string;
  params?: object;
}

export type SortOrder<E> = { readonly [P in PropertyOf<E>]?: 'ASC' | 'DESC' };

/** Joins and computed columns of a statement. `key` names it: the text is built once for each key. */
export interface QueryShape<E extends ObjectLiteral> {
  key: string;
  build: (query: SelectQueryBuilder<E>) => SelectQueryBuilder<E>;
  /** Columns of the shape that a list may be sorted by, with their types. */
  sortable?: Readonly<Record<string, SortKey['type']>>;
}

export interface Selection<E extends ObjectLiteral> {
  where?: Where<E>;
  /** Conditions in addition to `where`; absent ones are left out. */
  conditions?: readonly (Condition | null | undefined | false)[];
  /** The properties to read; all but those declared `select: false` when absent. */
  columns?: readonly PropertyOf<E>[];
  /** Properties declared `select: false` to read as well. */
  hidden?: readonly PropertyOf<E>[];
  shape?: QueryShape<E>;
}

export interface SortedSelection<E extends ObjectLiteral> extends Selection<E> {
  /** Newest first, then by descending id, when absent. Properties, or columns that the shape declares `sortable`. */
  sort?: SortOrder<E> | Readonly<Record<string, 'ASC' | 'DESC'>>;
}

/** The table of the organizations whose rows a list has; `o` in its condition. */
export interface ListedOrganizations {
  table: string;
  /** The column of the id. */
  id: string;
  /** The organizations whose rows are listed. */
  condition: string;
  /** The condition of the list that says the same of a row. */
  sameOfRow?: Condition;
}

export interface ListSelection<E extends ObjectLiteral> extends SortedSelection<E> {
  /** Ends a page early when the rows get too large. */
  budget?: ByteBudget;
  /** The shape that the total is counted with, with the joins of `shape` that change it; `shape` when absent. */
  countShape?: QueryShape<E>;
  /**
   * Has the total counted by organization, instead of `countShape`, for callers with many selected ones: a join would look
   * up the organization of each row.
   */
  organizations?: ListedOrganizations;
  /** Plans a page for its values also when it names an organization: owners within it have few rows or millions. */
  planForValues?: boolean;
}

export interface LockedSelection<E extends ObjectLiteral> extends SortedSelection<E> {
  /** Locks the rows until the transaction ends. */
  lock?: 'FOR UPDATE' | 'FOR NO KEY UPDATE' | 'FOR SHARE' | 'FOR UPDATE SKIP LOCKED';
}

export interface RepositoryOptions {
  /**
   * The owner of a row. Adds the caller's tenant as a plain predicate to each statement, so that an index on the tenant
   * columns serves it; row-level security remains the safety net. No predicate when absent.
   */
  ownership?: RowOwnership;
  /** Properties of the owner that have another name than `partnerId`, `orgId`, `userId`: `id` in the tenant's own table. */
  ownerColumns?: Partial<OwnerColumns>;
  /** Name of the entity in conditions; the entity's name in camel case when absent (`apiKey`). */
  alias?: string;
}

/** A caller (one round trip of its own), or an open transaction. */
export type Source = HasTenant | BatchExecutor;

interface Statement {
  rows: string;
  /** One row for each row of the list, without its columns. */
  matching: string;
}

/** Limits the cache; a shape whose key contained a value would otherwise grow it for ever. */
const MAX_STATEMENTS = 500;

/**
 * Base of the repositories of entities. TypeORM's query builder makes the text of each statement once; it is cached,
 * prepared, and runs in one round trip through the tenant-scoped executor. Rows are plain objects with the properties
 * of the entity.
 */
export abstract class TenantRepository<E extends ObjectLiteral> {
  private readonly statements = new Map<string, Statement>();
  private known?: EntityMapping<E>;

  protected constructor(
    protected readonly tenants: TenantDatabase,
    private readonly entity: EntityTarget<E>,
    private readonly notFound: () => Error,
    private readonly options: RepositoryOptions = {},
  ) {}

  /** Returns the first row, or null when there is none that the caller sees. */
  protected async findOne<Row = E>(source: Source, selection: LockedSelection<E>): Promise<Row | null> {
    const [row] = await this.run<Row>(source, selection, { limit: 1 });
    return row ?? null;
  }

  /** Returns the first row. @throws the repository's not-found error */
  protected async getOne<Row = E>(source: Source, selection: LockedSelection<E>): Promise<Row> {
    return this.found(await this.findOne<Row>(source, selection));
  }

  /** Returns all rows, at most `limit` when given; in no order when `sort` is absent. */
  protected findMany<Row = E>(source: Source, selection: LockedSelection<E> & { limit?: number }): Promise<Row[]> {
    return this.run<Row>(source, selection, { limit: selection.limit });
  }

  /** Counts the rows. Joins of a shape must not multiply them. */
  protected async count(source: Source, selection: Selection<E>): Promise<number> {
    const { statement, params, executor } = this.prepare(source, selection, {});
    const sql = `SELECT count(*)::int AS total FROM (${statement.matching}) matching`;
    const [row] = await executor.query<{ total: number }>(sql, params);
    return row?.total ?? 0;
  }

  /** Counts the rows of a list as `listPage` does. */
  protected async countListed(source: Source, selection: Selection<E>): Promise<Omit<PageRows<never>, 'rows'>> {
    const { statement, params, executor } = this.prepare(source, selection, {});
    const planForValues = this.isPartnerWide(source, selection.where);
    return countMatching(executor, statement.matching, params, { planForValues });
  }

  /** Lists one page and the total of all pages, in one round trip; newest first unless sorted otherwise. */
  protected async listPage<Row = E>(
    source: Source,
    { page, budget, planForValues, ...selection }: ListSelection<E> & { page: PageRequest },
  ): Promise<PageRows<Row>> {
    const sort = selection.sort ?? this.mapping.newestFirst;
    const { statement, params, executor } = this.prepare(source, { ...selection, sort }, {});
    const found = await runPageStatements<Row & ObjectLiteral>(executor, statement, params, page, {
      budget,
      planForValues: planForValues ?? this.isPartnerWide(source, selection.where),
    });
    return { ...found, rows: this.mapping.hydrate(found.rows) };
  }

  /**
   * Lists one page after a cursor; newest first unless sorted otherwise. The sort has one direction, and its properties
   * are never null and unique together.
   * @throws InvalidCursor
   */
  protected async keysetPage<Row extends object = E>(
    source: Source,
    cursors: Cursors,
    binding: CursorBinding,
    {
      sort,
      limit,
      cursor,
      budget,
      planForValues,
      ...selection
    }: ListSelection<E> & { limit: number; cursor?: string | null },
  ): Promise<KeysetRows<Row>> {
    const { statement, params, executor } = this.prepare(source, selection, {});
    const { keys, direction } = this.mapping.keysetSort(sort ?? this.mapping.newestFirst, selection.shape?.sortable);
    // The statement is a subquery, whose columns are the properties; PostgreSQL flattens it.
    const page = await keysetPage<Row & ObjectLiteral>(executor, cursors, binding, {
      select: 'q.*',
      from: `(${statement.rows}) q`,
      params,
      sort: keys,
      direction,
      limit,
      cursor,
      budget,
      planForValues: planForValues ?? this.isPartnerWide(source, selection.where),
    });
    return { rows: this.mapping.hydrate(page.rows), nextCursor: page.nextCursor };
  }

  /** Inserts one row; properties that are undefined get the column's default. @returns the row as stored */
  protected async insert(tx: Transaction, values: Values<E>): Promise<E> {
    const [row] = await this.insertMany(tx, [values]);
    if (!row) throw new Error(`INSERT INTO ${this.mapping.metadata.tableName} returned no row`);
    return row;
  }

  /** Inserts rows in one statement. @returns the rows as stored, hidden columns included */
  protected async insertMany(tx: Transaction, values: Values<E>[]): Promise<E[]> {
    const inserted = await tx.manager
      .createQueryBuilder()
      .insert()
      .into(this.entity)
      .values(values)
      .returning(this.mapping.allColumns)
      .updateEntity(false)
      .execute();
    return this.mapping.fromRaw(inserted.raw as ObjectLiteral[]);
  }

  /**
   * Updates the matching rows; properties that are undefined stay.
   * @param params values of the `:name` placeholders of changes that are SQL: `{ endsAt: () => 'now() + :overlap' }`
   * @returns the rows as stored, hidden columns included
   */
  protected async update(
    tx: Transaction,
    where: FindOptionsWhere<E>,
    changes: Values<E>,
    params: ObjectLiteral = {},
  ): Promise<E[]> {
    assertEachDefined(where);
    const updated = await tx.manager
      .createQueryBuilder()
      .update(this.entity)
      .set(changes)
      .where(where)
      .setParameters(params)
      .returning(this.mapping.allColumns)
      .updateEntity(false)
      .execute();
    return this.mapping.fromRaw(updated.raw as ObjectLiteral[]);
  }

  /** Updates one row. @throws the repository's not-found error when no row matches */
  protected async updateOne(
    tx: Transaction,
    where: FindOptionsWhere<E>,
    changes: Values<E>,
    params?: ObjectLiteral,
  ): Promise<E> {
    const [row] = await this.update(tx, where, changes, params);
    return this.found(row);
  }

  /** Deletes the matching rows. @returns how many there were */
  protected async delete(tx: Transaction, where: FindOptionsWhere<E>): Promise<number> {
    assertEachDefined(where);
    const { affected } = await tx.repository(this.entity).delete(where);
    return affected ?? 0;
  }

  /** Returns the row. @throws the repository's not-found error when it is null or undefined */
  protected found<Row>(row: Row | null | undefined): Row {
    if (row === null || row === undefined) throw this.notFound();
    return row;
  }

  private async run<Row>(source: Source, selection: LockedSelection<E>, { limit }: { limit?: number }): Promise<Row[]> {
    const end = { limit: limit !== undefined, lock: selection.lock };
    const { statement, params, executor } = this.prepare(source, selection, end);
    const rows = await executor.query<Row & ObjectLiteral>(
      statement.rows,
      limit === undefined ? params : { ...params, limit },
    );
    return this.mapping.hydrate(rows);
  }

  /**
   * Returns whether a list spans the organizations of a partner. Partners differ a thousandfold in size: the plan for an
   * average one may read the rows of a large one once for each of its organizations.
   */
  private isPartnerWide(source: Source, where: Where<E> | undefined): boolean {
    return callerOf(source)?.tenant.scope === 'partner' && this.namedOrganization(where) === null;
  }

  /** Restricts a caller to the organization that the statement names. */
  private restrict(caller: HasTenant, where: Where<E> | undefined): HasTenant {
    const { ownership } = this.options;
    const named = ownership === 'organization' || ownership === 'dual' ? this.namedOrganization(where) : null;
    return named === null ? caller : restrictToOrganization(caller, named);
  }

  /** Returns the one organization whose rows a statement reads, or null. */
  private namedOrganization(where: Where<E> = {}): string | null {
    const named = (where as Record<string, unknown>)[this.options.ownerColumns?.orgId ?? 'orgId'];
    return typeof named === 'string' ? named : null;
  }

  private prepare(
    source: Source,
    selection: ListSelection<E>,
    end: { limit?: boolean; lock?: string },
  ): { statement: Statement; params: Record<string, unknown>; executor: BatchExecutor } {
    const given = callerOf(source);
    const caller = given && this.restrict(given, selection.where);
    const executor = 'query' in source ? source : this.tenants.reader(caller ?? source);
    const owner = this.ownerOf(caller, 'page');
    const where = whereConditions(selection.where ?? {}, this.mapping);
    const conditions = [owner, ...where, ...(selection.conditions ?? [])].filter(isCondition);
    const params = Object.assign({}, ...conditions.map((condition) => condition.params)) as Record<string, unknown>;
    const { shape, countShape, organizations, columns, hidden, sort } = selection;
    const key = [
      shape?.key,
      countShape?.key,
      organizations?.table,
      columns?.join(),
      hidden?.join(),
      sort && Object.entries(sort).join(),
      end.limit,
      end.lock,
      ...conditions.map((condition) => condition.sql),
    ].join('\n');
    const known = this.statements.get(key);
    if (known) return { statement: known, params, executor };
    const matching = this.matchingText(caller, selection, owner ? conditions.slice(1) : conditions);
    const statement = { rows: this.rowsText(selection, conditions, end), matching };
    if (this.statements.size < MAX_STATEMENTS) this.statements.set(key, statement);
    return { statement, params, executor };
  }

  private ownerOf(caller: HasTenant | null, purpose: ReadPurpose): Condition | null {
    const { ownership, ownerColumns } = this.options;
    if (!ownership || !caller) return null;
    return ownerCondition(ownership, caller.tenant, this.mapping.ownerColumns(ownerColumns), purpose);
  }

  private rowsText(
    { columns, hidden, shape, sort = {} }: ListSelection<E>,
    conditions: readonly Condition[],
    { limit, lock }: { limit?: boolean; lock?: string },
  ): string {
    const { alias } = this.mapping;
    const query = this.start(shape, conditions);
    for (const property of this.mapping.selected(columns, hidden)) query.addSelect(`${alias}.${property}`, property);
    const order = Object.entries(sort).map(
      ([property, direction]) => `${this.mapping.sortExpression(property, shape?.sortable)} ${direction}`,
    );
    const parts = [
      query.getQuery(),
      order.length > 0 && `ORDER BY ${order.join(', ')}`,
      limit && 'LIMIT :limit',
      lock && lock.replace(/^(FOR (?:NO KEY )?\w+)/, `$1 OF "${alias}"`),
    ];
    return parts.filter(Boolean).join(' ');
  }

  /** @param filters  the conditions without that of the owner */
  private matchingText(
    caller: HasTenant | null,
    { shape, countShape = shape, organizations }: ListSelection<E>,
    filters: readonly Condition[],
  ): string {
    if (organizations && caller && hasManyOrganizations(caller.tenant)) {
      return this.matchingByOrganization(caller, organizations, filters);
    }
    const conditions = [this.ownerOf(caller, 'count'), ...filters].filter(isCondition);
    return this.start(countShape, conditions).select('1', 'one').getQuery();
  }

  /** `OFFSET 0` keeps the planner from joining all rows before it reads the organizations. */
  private matchingByOrganization(
    { tenant }: HasTenant,
    { table, id, condition, sameOfRow }: ListedOrganizations,
    filters: readonly Condition[],
  ): string {
    const { partnerId, orgId } = this.mapping.ownerColumns(this.options.ownerColumns);
    const ofOne = { sql: `${partnerId} = o.partner_id AND ${orgId} = o.${id}` };
    const rows = this.start(undefined, [ofOne, ...filters.filter(({ sql }) => sql !== sameOfRow?.sql)]);
    const columns = { partnerId: 'o.partner_id', orgId: `o.${id}`, userId: '' };
    return `SELECT 1 AS one FROM ${table} o
      CROSS JOIN LATERAL (${rows.select('1', 'one').getQuery()} OFFSET 0) counted
      WHERE ${condition} AND ${ownerCondition('organization', tenant, columns)?.sql}`;
  }

  private start(shape: QueryShape<E> | undefined, conditions: readonly Condition[]): SelectQueryBuilder<E> {
    const { alias, repository } = this.mapping;
    const empty = repository.createQueryBuilder(alias).select([]);
    const query = shape ? shape.build(empty) : empty;
    for (const { sql } of conditions) query.andWhere(`(${sql})`);
    return query;
  }

  /** Metadata is complete once the data source is open, which is later than the construction of providers in specs. */
  private get mapping(): EntityMapping<E> {
    this.known ??= new EntityMapping(this.tenants.metadataRepository(this.entity), this.options.alias);
    return this.known;
  }
}

function callerOf(source: Source): HasTenant | null {
  if (source instanceof TenantTransaction) return source.caller;
  return 'tenant' in source ? source : null;
}

function whereConditions<E extends ObjectLiteral>(where: Where<E>, mapping: EntityMapping<E>): Condition[] {
  return Object.entries(where)
    .filter(([, value]) => value !== undefined)
    .map(([property, value]) => {
      const column = `${mapping.alias}.${property}`;
      if (value === null) return { sql: `${column} IS NULL` };
      if (!Array.isArray(value)) {
        return { sql: `${column} = :${property}`, params: { [property]: mapping.persistent(property, value) } };
      }
      const values = value.map((one) => mapping.persistent(property, one));
      return { sql: `${column} = ANY(:${property})`, params: { [property]: values } };
    });
}

/** Refuses conditions that TypeORM would leave out, since the statement would then change more rows than meant. */
function assertEachDefined(where: object): void {
  const values: unknown[] = Object.values(where);
  if (values.length === 0 || values.includes(undefined)) throw new Error('Each condition of a change needs a value');
}

function isCondition(condition: Condition | null | undefined | false): condition is Condition {
  return Boolean(condition);
}
