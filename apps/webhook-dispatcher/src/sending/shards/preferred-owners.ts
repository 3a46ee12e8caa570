import { hash32, SHARDS } from './shard-of.js';

/**
 * Who should own each shard: rendezvous hashing, so that everybody comes to the same answer, and one process more or
 * less moves the shards of that process alone.
 * @returns by shard; empty when there is nobody
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
