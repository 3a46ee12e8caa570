import type { EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import type { SortKey } from '../paging/keyset-page.js';
import type { OwnerColumns } from './tenant-condition.js';
import type { QueryShape, SortOrder } from './tenant.repository.js';

/** Columns, properties and values of an entity, by its metadata. */
export class EntityMapping<E extends ObjectLiteral> {
  readonly metadata: EntityMetadata;
  readonly alias: string;
  readonly allColumns: string[];
  readonly newestFirst: SortOrder<E>;
  /** Columns whose values TypeORM converts: those with a transformer, and dates without a time. */
  private readonly converted: EntityMetadata['columns'];

  constructor(
    readonly repository: Repository<E>,
    alias?: string,
  ) {
    this.metadata = repository.metadata;
    const { name, columns } = this.metadata;
    this.alias = alias ?? name.charAt(0).toLowerCase() + name.slice(1);
    this.allColumns = columns.map((column) => column.propertyName);
    this.converted = columns.filter((column) => column.transformer !== undefined || column.type === 'date');
    const ids = this.metadata.primaryColumns.map((column) => [column.propertyName, 'DESC']);
    const created = this.allColumns.includes('createdAt') ? [['createdAt', 'DESC']] : [];
    this.newestFirst = Object.fromEntries([...created, ...ids]) as SortOrder<E>;
  }

  selected(columns: readonly string[] | undefined, hidden: readonly string[] = []): string[] {
    if (columns) return [...columns];
    return this.metadata.columns
      .filter((column) => column.isSelect || hidden.includes(column.propertyName))
      .map((column) => column.propertyName);
  }

  ownerColumns({
    partnerId = 'partnerId',
    orgId = 'orgId',
    userId = 'userId',
  }: Partial<OwnerColumns> = {}): OwnerColumns {
    const nameOf = (property: string) => `${this.alias}.${property}`;
    return { partnerId: nameOf(partnerId), orgId: nameOf(orgId), userId: nameOf(userId) };
  }

  /** Converts values as TypeORM does on load. */
  hydrate<Row extends ObjectLiteral>(rows: Row[]): Row[] {
    if (this.converted.length === 0) return rows;
    const { driver } = this.repository.manager.dataSource;
    for (const row of rows as Record<string, unknown>[]) {
      for (const column of this.converted) {
        const { propertyName: property } = column;
        if (property in row) row[property] = driver.prepareHydratedValue(row[property], column) as unknown;
      }
    }
    return rows;
  }

  /** Converts rows of RETURNING, whose keys are the names of the columns. */
  fromRaw(rows: readonly ObjectLiteral[]): E[] {
    const { columns } = this.metadata;
    return this.hydrate(
      rows.map((row) =>
        Object.fromEntries(columns.map(({ databaseName, propertyName }) => [propertyName, row[databaseName]])),
      ),
    ) as E[];
  }

  /** Converts a value as TypeORM does on save. */
  persistent(property: string, value: unknown): unknown {
    const column = this.metadata.findColumnWithPropertyName(property);
    if (!column) throw new Error(`${this.metadata.name} has no property ${property}`);
    return column.transformer ? this.repository.manager.dataSource.driver.preparePersistentValue(value, column) : value;
  }

  /** Returns a column of the entity, or the name of a sortable column of the shape. */
  sortExpression(property: string, sortable: QueryShape<E>['sortable'] = {}): string {
    const column = this.metadata.findColumnWithPropertyName(property);
    if (column) return `"${this.alias}"."${column.databaseName}"`;
    if (property in sortable) return `"${property}"`;
    throw new Error(`${this.metadata.name} cannot be sorted by ${property}`);
  }

  keysetSort(
    sort: SortOrder<E> | Readonly<Record<string, 'ASC' | 'DESC'>>,
    sortable: QueryShape<E>['sortable'] = {},
  ): { keys: SortKey[]; direction: 'asc' | 'desc' } {
    const entries = Object.entries(sort);
    const keys = entries.map(([property]) => ({
      expression: `q."${property}"`,
      type: sortable[property] ?? sortType(this.metadata.findColumnWithPropertyName(property)?.type),
      joined: property in sortable,
    }));
    return { keys, direction: entries[0]?.[1] === 'ASC' ? 'asc' : 'desc' };
  }
}

function sortType(type: unknown): SortKey['type'] {
  const name = type === Date ? 'timestamptz' : type === String ? 'text' : type === Number ? 'integer' : type;
  if (['timestamptz', 'uuid', 'text', 'bigint', 'integer'].includes(name as string)) return name as SortKey['type'];
  throw new Error(`A keyset list cannot be sorted by a column of type ${String(name)}`);
}
