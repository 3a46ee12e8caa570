import { createHash } from 'node:crypto';

/** JSON with the keys of every object sorted: the same value is the same text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

/** What a record says, as 64 hex digits: it changes when any field does. */
export function revisionOf(record: object): string {
  return createHash('sha256').update(canonicalJson(record)).digest('hex');
}
