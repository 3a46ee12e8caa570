/** The number of rows in `delivery_partition`. */
export const PARTITIONS = 1_024;

/** Returns the partition of an organization, 0 to 1,023. One replica sends all deliveries of a partition. */
export const partitionOf = (orgId: string): number => hash32(orgId) % PARTITIONS;

/** Hashes with FNV-1a and the last step of MurmurHash3, since the texts differ in few characters. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
