import { createHash } from 'node:crypto';

const PART_CHARACTERS = 16;

/**
 * Returns the entity tag of a record: `"<revision>.<hash of the whole record>"`. `If-None-Match` compares all of it, `If-Match`
 * the revision only, so that a counter that changes meanwhile does not refuse an edit.
 * @see docs/reference/requests.md#entity-tags
 */
export function entityTagOf(record: object, volatileFields: readonly string[]): string {
  return `"${revisionOf(record, volatileFields)}.${hashOf(record, [])}"`;
}

/** Returns a hash of the fields of a record that count for `If-Match`, in any order. */
export function revisionOf(record: object, volatileFields: readonly string[]): string {
  return hashOf(record, volatileFields);
}

/** Returns the revision in an entity tag of ours; null for a weak tag, which `If-Match` never matches, and for any other. */
export function revisionIn(tag: string): string | null {
  return /^"([\w-]+)\.[\w-]+"$/.exec(tag)?.[1] ?? null;
}

/**
 * Returns true when `If-None-Match` names an entity tag, or `*`. Tags are compared weakly, as RFC 9110 wants for it.
 * @param tag  with its quotes; `W/"..."` when weak
 */
export function matchesEntityTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const wanted = opaqueTag(tag);
  return ifNoneMatch.split(',').some((given) => given.trim() === '*' || opaqueTag(given) === wanted);
}

function opaqueTag(tag: string): string {
  return tag.trim().replace(/^W\//, '');
}

function hashOf(record: object, withoutFields: readonly string[]): string {
  const fields = Object.entries(record)
    .filter(([name, value]) => value !== undefined && !withoutFields.includes(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, PART_CHARACTERS);
}
