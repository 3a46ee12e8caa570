/** The state of a tenant as a message has it. */
export interface ReadState<Entry> {
  entry: Entry;
  /** Fields that could not be read and have the strictest value instead. */
  malformed: string[];
}

/** NUL and half of a surrogate pair: PostgreSQL stores neither. */
const NOT_STORABLE = /[\0\p{Surrogate}]/u;
const MAX_TEXT = 1_000;

export const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Returns a text, or an empty one for a value that cannot be stored. */
export function readText(value: unknown, field: string, malformed: string[]): string {
  if (typeof value === 'string' && value.length <= MAX_TEXT && !NOT_STORABLE.test(value)) return value;
  malformed.push(field);
  return '';
}
