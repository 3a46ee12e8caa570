import { createHash } from 'node:crypto';

/** The most bytes of one collection that is derived from the report of an agent. */
const COLLECTION_BYTES = 150_000;

/** Returns the first items, up to a number and a size. */
export function firstItems<T>(items: readonly T[], max: number, maxBytes = COLLECTION_BYTES): T[] {
  const included: T[] = [];
  let bytes = 0;
  for (const item of items.slice(0, max)) {
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (bytes > maxBytes) break;
    included.push(item);
  }
  return included;
}

/** Returns an id in the form of a UUID that is the same for the same parts. */
export function stableId(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(parts.join('\0')).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Returns a function that gives each item of a device a stable id; equal items are distinguished by their order. */
export function itemIds(deviceId: string, kind: string): (...parts: string[]) => string {
  const seen = new Map<string, number>();
  return (...parts) => {
    const key = parts.join('\0');
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return stableId(kind, deviceId, ...parts, String(before));
  };
}
