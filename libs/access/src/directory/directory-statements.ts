/** The status of a row whose last change could not be applied: refused until it is read from the owner again. */
export const UNKNOWN = 'unknown';

/**
 * Returns the condition on which a stored row `d` is replaced: by a newer version; after an unreadable change by any
 * version that is not older; and, in a reconciliation, by whatever the owner has, unless the row was written meanwhile.
 * The last one also heals a directory after the owner was restored from a backup and its versions went back.
 * @param columns  compared when the version is the same
 */
export const replacesRow = (columns: readonly string[]): string => `
  d.version < excluded.version
  OR (d.status = '${UNKNOWN}' AND d.version <= excluded.version)
  OR (:asOf::timestamptz IS NOT NULL AND d.updated_at < :asOf::timestamptz
      AND (${['version', ...columns].map((column) => `d.${column}`).join(', ')})
        IS DISTINCT FROM (${['version', ...columns].map((column) => `excluded.${column}`).join(', ')}))`;

/** Rows written later than this before a page was read may be newer than the page. */
export const AS_OF = `SELECT (clock_timestamp() - INTERVAL '30 seconds')::text AS "asOf"`;
