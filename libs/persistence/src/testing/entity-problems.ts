import { getMetadataArgsStorage } from 'typeorm';
import type { SqlExecutor } from '../database/sql-executor.js';

type EntityClass = abstract new () => unknown;

/** A column of a table, or of an entity; the type as PostgreSQL formats it, without a length or precision. */
interface ColumnShape {
  type: string;
  nullable: boolean;
}

/** Columns by table and name. */
type Schema = Map<string, Map<string, ColumnShape>>;

/** Partitions are those of their table. Transaction ids (`xid8`) are not compared: TypeORM has no such type. */
const COLUMNS = `
  SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type, NOT a.attnotnull AS nullable
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     AND a.atttypid <> 'xid8'::regtype
   ORDER BY 1, a.attnum`;

/** The type of a short name, such as `timestamptz`; null for a name that is none. */
const TYPES = 'SELECT name, format_type(to_regtype(name), NULL) AS type FROM unnest($1::text[]) AS n(name)';

/**
 * The tables that libs own and read by statements of their own: messages (messaging), directories (access), migrations,
 * partitions and idempotency (persistence).
 */
const TABLES_OF_LIBS: readonly string[] = [
  'dead_letter_message',
  'inbox',
  'outbox',
  'outbox_broadcast',
  'outbox_lease',
  'organization_directory',
  'partner_directory',
  'idempotency_record',
  'rmm_migration',
  'rmm_partition_rule',
];

/**
 * Compares the entities of a service with the tables of its migrated schema: each table has an entity with the same columns.
 * @param exempt  tables without an entity in addition to those of libs, each for a reason that the spec gives
 * @returns a line for each difference; empty when there is none
 */
export async function entityProblems(
  executor: SqlExecutor,
  schema: string,
  entities: readonly EntityClass[],
  exempt: readonly string[] = [],
): Promise<string[]> {
  const tables = await readTables(executor, schema);
  const declared = await readEntities(executor, entities);
  const withoutEntity = [...TABLES_OF_LIBS, ...exempt];
  const names = [...new Set([...tables.keys(), ...declared.keys()])].sort();
  return names
    .filter((name) => declared.has(name) || !withoutEntity.includes(name))
    .flatMap((name) => differences(name, tables.get(name), declared.get(name)));
}

function differences(table: string, stored?: Map<string, ColumnShape>, declared?: Map<string, ColumnShape>): string[] {
  if (!stored) return [`${table}: the entity has no table`];
  if (!declared) return [`${table}: the table has no entity`];
  const names = [...new Set([...stored.keys(), ...declared.keys()])];
  return names.flatMap((name) => columnDifferences(`${table}.${name}`, stored.get(name), declared.get(name)));
}

function columnDifferences(column: string, stored?: ColumnShape, declared?: ColumnShape): string[] {
  if (!stored) return [`${column}: the table has no such column`];
  if (!declared) return [`${column}: the entity has no such column`];
  const [is, says] = [describe(stored), describe(declared)];
  return is === says ? [] : [`${column}: is ${is}, the entity says ${says}`];
}

function describe({ type, nullable }: ColumnShape): string {
  return nullable ? `${type} or null` : type;
}

async function readTables(executor: SqlExecutor, schema: string): Promise<Schema> {
  const rows = await executor.query<ColumnShape & { table: string; name: string }>(COLUMNS, [schema]);
  return group(rows);
}

async function readEntities(executor: SqlExecutor, entities: readonly EntityClass[]): Promise<Schema> {
  const columns = entities.flatMap(columnsOf);
  const names = [...new Set(columns.map(({ type }) => type))];
  const rows = await executor.query<{ name: string; type: string | null }>(TYPES, [names]);
  const types = new Map(rows.map(({ name, type }) => [name, type]));
  return group(columns.map((column) => ({ ...column, type: types.get(column.type) ?? column.type })));
}

function columnsOf(entity: EntityClass): (ColumnShape & { table: string; name: string })[] {
  const { tables, columns } = getMetadataArgsStorage();
  const table = tables.find(({ target }) => target === entity)?.name;
  if (table === undefined) throw new Error(`${entity.name} does not name its table`);
  return columns
    .filter(({ target }) => typeof target === 'function' && (target === entity || entity.prototype instanceof target))
    .map(({ propertyName, options }) => ({
      table,
      name: options.name ?? propertyName,
      type: `${typeName(options.type)}${options.array ? '[]' : ''}`,
      nullable: options.nullable ?? false,
    }));
}

/** Returns the name of a type; a class for a column that names none. */
const typeName = (type: unknown): string => (typeof type === 'function' ? type.name : String(type));

function group(columns: (ColumnShape & { table: string; name: string })[]): Schema {
  const schema: Schema = new Map();
  for (const { table, name, type, nullable } of columns) {
    const known = schema.get(table) ?? new Map<string, ColumnShape>();
    schema.set(table, known.set(name, { type, nullable }));
  }
  return schema;
}
