/** Says how much of a collection a record has. */
export interface CollectionBlock {
  total: number;
  included: number;
  complete: boolean;
  reason: string | null;
}

/** Returns the first items of a collection, and its block. @param total  items that exist, unless there are more here */
export function limitItems<T>(
  items: readonly T[],
  total: number | null | undefined,
  max: number,
  reason = 'collection_limit_exceeded',
): { items: T[]; block: CollectionBlock } {
  const included = items.slice(0, max);
  const all = Math.max(total ?? 0, items.length);
  const complete = included.length === all;
  return {
    items: included,
    block: { total: all, included: included.length, complete, reason: complete ? null : reason },
  };
}

/** The named fields of an object, none of them absent. */
type PickedFields<T, K extends keyof T> = { [N in K]-?: Exclude<T[N], undefined> | null };

/** Returns the named fields of an object; null for absent ones. */
export function pickFields<T extends object, K extends keyof T>(from: T, names: readonly K[]): PickedFields<T, K> {
  const picked: Record<PropertyKey, unknown> = {};
  for (const name of names) picked[name] = from[name] ?? null;
  return picked as PickedFields<T, K>;
}
