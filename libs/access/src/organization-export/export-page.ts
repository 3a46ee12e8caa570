import type { OrganizationExportPage } from '@rmm/contracts';

/** Records to read for one page: one more than it has, by which its end is known. */
export const EXPORT_READ_LIMIT = 201;

/** Half of the message limit of NATS. */
const MAX_BYTES = 512 * 1024;

/**
 * Returns the records that one page has: up to 200, in a bounded number of bytes, and at least one.
 * @param keyOf  the position of a record
 */
export function toExportPage<T extends object>(
  records: readonly T[],
  keyOf: (record: T) => string,
): OrganizationExportPage {
  const page: T[] = [];
  let bytes = 0;
  for (const record of records.slice(0, EXPORT_READ_LIMIT - 1)) {
    bytes += Buffer.byteLength(JSON.stringify(record));
    if (bytes > MAX_BYTES && page.length > 0) break;
    page.push(record);
  }
  const last = page.at(-1);
  return { records: page, next: last && page.length < records.length ? keyOf(last) : null };
}
