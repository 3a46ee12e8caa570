/** The number of rows in `delivery_shard`. */
export const SHARDS = 64;

/** Returns scheme, host without a final dot, and port. @throws TypeError when the text is no URL */
export function originOf(url: string): string {
  return new URL(url).origin.replace(/\.(?=(:\d+)?$)/, '');
}

/** Returns the shard of an origin, 0 to 63. */
export const shardOf = (origin: string): number => hash32(origin) % SHARDS;

/** Hashes with FNV-1a and the last step of MurmurHash3, since the texts differ in few characters. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
