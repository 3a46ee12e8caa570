import { hash32, SHARDS } from './shard-of.js';

/**
 * Returns the preferred owner of each shard by rendezvous hashing: every replica computes the same result, and adding or
 * removing an instance moves the shards of that instance alone.
 * @returns owners by shard; empty without instances
 */
export function preferredOwners(instances: readonly string[]): string[] {
  if (instances.length === 0) return [];
  return Array.from({ length: SHARDS }, (_, shard) => {
    let best = '';
    let highest = -1;
    for (const id of instances) {
      const weight = hash32(`${id}/${shard}`);
      if (weight > highest || (weight === highest && id > best)) {
        highest = weight;
        best = id;
      }
    }
    return best;
  });
}
