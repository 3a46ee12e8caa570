import { MAX_UUID, NIL_UUID, type SqlExecutor } from '@rmm/persistence';

/** The status of a row whose last change could not be applied: refused until it is read from the owner again. */
export const UNKNOWN = 'unknown';

/** Rows written later than this before the owner was read may be newer than what was read. */
const MARGIN_SECONDS = 30;

/** The condition that a row `d` was not written while the owner was read, which took `:readSeconds`. */
const NOT_WRITTEN_MEANWHILE = `
  d.updated_at < clock_timestamp() - make_interval(secs => ${MARGIN_SECONDS} + :readSeconds::float8)`;

/**
 * Returns the condition on which a stored row `d` is replaced: by a newer version; after an unreadable change by any
 * version that is not older; and by whatever was read from the owner, unless the row was written meanwhile. The last one
 * also heals a directory after the owner was restored from a backup and its versions went back.
 * @param columns  compared when the version is the same
 */
export function replacesRow(columns: readonly string[]): string {
  const compared = ['version', ...columns];
  return `
  d.version < excluded.version
  OR (d.status = '${UNKNOWN}' AND d.version <= excluded.version)
  OR (:readSeconds::float8 IS NOT NULL AND ${rowOf('d', compared)} IS DISTINCT FROM ${rowOf('excluded', compared)}
      AND (d.version = excluded.version OR ${NOT_WRITTEN_MEANWHILE}))`;
}

/**
 * Returns the condition that the table has no row with the id, version and columns of `given`. An upsert of a row that is
 * the same would replace nothing, but lock and write it: each replica compares every tenant every five minutes.
 */
export function differsFromRow(given: string, table: string, id: string, columns: readonly string[]): string {
  const compared = [id, 'version', ...columns];
  return `NOT EXISTS (SELECT FROM ${table} s WHERE ${rowOf('s', compared)} = ${rowOf(given, compared)})`;
}

const rowOf = (alias: string, columns: readonly string[]): string =>
  `(${columns.map((column) => `${alias}.${column}`).join(', ')})`;

/** A row as stored: its status is `unknown` after a change that could not be read. */
export type StoredEntry<Entry extends { status: string }> = Omit<Entry, 'status'> & {
  status: Entry['status'] | typeof UNKNOWN;
};

export interface WrittenRow {
  id: string;
  isNew: boolean;
}

/** A change that could not be read. */
export interface UnreadableChange {
  id: string;
  /** Null when it could not be read either. */
  version: number | null;
}

/** A range of ids that the owner has listed whole. */
export interface MissingRange {
  /** Exclusive; null from the first id. */
  after: string | null;
  /** Inclusive; null to the last id. */
  upTo: string | null;
  /** The ids the owner has. */
  ids: readonly string[];
  readSeconds: number;
}

/** The table of a directory, under the worker login. */
export abstract class TenantDirectoryRepository<Entry extends { status: string }> {
  /**
   * @param table  constant SQL
   * @param id  its column with the id of the tenant
   */
  protected constructor(
    private readonly table: string,
    private readonly id: string,
  ) {}

  abstract list(db: SqlExecutor, ids: readonly string[]): Promise<StoredEntry<Entry>[]>;
  /**
   * Writes what decides about access.
   * @param readSeconds  how long ago the owner was asked; null for an event
   * @returns the rows that were replaced
   */
  abstract upsertStatus(db: SqlExecutor, rows: readonly Entry[], readSeconds: number | null): Promise<WrittenRow[]>;
  abstract updateDetails(db: SqlExecutor, rows: readonly Entry[]): Promise<void>;

  /** Marks a row whose change could not be read, unless it is newer. @returns false when no row was marked */
  async markUnknown(db: SqlExecutor, { id, version }: UnreadableChange): Promise<boolean> {
    const rows = await db.query(
      `UPDATE ${this.table} SET status = '${UNKNOWN}', updated_at = now()
       WHERE ${this.id} = :id AND (:version::bigint IS NULL OR version < :version::bigint) RETURNING ${this.id}`,
      { id, version },
    );
    return rows.length > 0;
  }

  /** Marks the rows of a range that the owner does not have. @returns their ids */
  async markMissing(db: SqlExecutor, { after, upTo, ids, readSeconds }: MissingRange): Promise<string[]> {
    const rows = await db.query<{ id: string }>(
      `UPDATE ${this.table} d SET status = '${UNKNOWN}', updated_at = now()
       WHERE ${this.id} > :after::uuid AND ${this.id} <= :upTo::uuid
         AND ${this.id} <> ALL (:ids::uuid[]) AND status <> '${UNKNOWN}' AND ${NOT_WRITTEN_MEANWHILE}
       RETURNING ${this.id} AS id`,
      { after: after ?? NIL_UUID, upTo: upTo ?? MAX_UUID, ids, readSeconds },
    );
    return rows.map(({ id }) => id);
  }
}
