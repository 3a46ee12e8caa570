/** The status of a row whose last change could not be applied: refused until it is read from the owner again. */
export const UNKNOWN = 'unknown';

/** Rows written later than this before the owner was read may be newer than what was read. */
const MARGIN_SECONDS = 30;

/** The condition that a row `d` was not written while the owner was read, which took `:readSeconds`. */
export const NOT_WRITTEN_MEANWHILE = `
  d.updated_at < clock_timestamp() - make_interval(secs => ${MARGIN_SECONDS} + :readSeconds::float8)`;

/**
 * Returns the condition on which a stored row `d` is replaced: by a newer version; after an unreadable change by any
 * version that is not older; and by whatever was read from the owner, unless the row was written meanwhile. The last one
 * also heals a directory after the owner was restored from a backup and its versions went back.
 * @param columns  compared when the version is the same
 */
export function replacesRow(columns: readonly string[]): string {
  const stored = ['version', ...columns].map((column) => `d.${column}`).join(', ');
  const given = ['version', ...columns].map((column) => `excluded.${column}`).join(', ');
  return `
  d.version < excluded.version
  OR (d.status = '${UNKNOWN}' AND d.version <= excluded.version)
  OR (:readSeconds::float8 IS NOT NULL AND (${stored}) IS DISTINCT FROM (${given})
      AND (d.version = excluded.version OR ${NOT_WRITTEN_MEANWHILE}))`;
}
