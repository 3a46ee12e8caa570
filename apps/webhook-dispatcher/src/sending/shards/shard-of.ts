/** As many as there are rows in `delivery_shard`. */
export const SHARDS = 64;

/** Scheme, host and port, a host written with its final dot being the same host. @throws TypeError when it is no URL */
export function originOf(url: string): string {
  return new URL(url).origin.replace(/\.(?=(:\d+)?$)/, '');
}

/** The shard of everything that goes to an origin: 0 to 63. */
export const shardOf = (origin: string): number => hash32(origin) % SHARDS;

/** The same on every machine. FNV-1a, then the last step of MurmurHash3, since our texts differ in few characters. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
