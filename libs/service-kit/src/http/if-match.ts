import { currentContext } from '../context/request-context.js';
import { revisionIn, revisionOf } from './entity-tag.js';
import { InvalidIfMatch, RecordChanged } from './if-match.errors.js';

/** An entity tag of RFC 9110. */
const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Compares `If-Match` of the current request with the record as it is stored; does nothing for a request without it, or outside
 * of a request. Call it in the transaction of the change once the row is locked and the caller may change it, so that of
 * concurrent changes with one tag one is carried out.
 * @param read  returns the record as the GET of it responds; called only when it is compared
 * @throws RecordChanged
 * @see docs/reference/requests.md#entity-tags
 */
export function assertIfMatch(read: () => object | Promise<object>): Promise<void> {
  return assertIfMatchAny(async () => [await read()]);
}

/**
 * Like `assertIfMatch`, for a record that several routes show in forms of their own: a tag of any of them matches.
 * @throws RecordChanged
 */
export async function assertIfMatchAny(read: () => Promise<object[]>): Promise<void> {
  const condition = currentContext()?.ifMatch;
  if (!condition?.revisions) return;
  const stored = (await read()).map((form) => revisionOf(form, condition.volatileFields));
  if (!stored.some((revision) => condition.revisions?.includes(revision))) throw new RecordChanged();
}

/** Returns the revisions of the tags in `If-Match`; null for `*`. @throws InvalidIfMatch */
export function parseIfMatch(header: string): string[] | null {
  if (header.trim() === '*') return null;
  const tags = header.match(ENTITY_TAG) ?? [];
  const elements = header.replace(ENTITY_TAG, '*').split(',');
  const isList = elements.every((element) => ['*', ''].includes(element.trim()));
  if (tags.length === 0 || !isList || header.replace(ENTITY_TAG, '').includes('*')) throw new InvalidIfMatch();
  return tags.map(revisionIn).filter((revision) => revision !== null);
}
