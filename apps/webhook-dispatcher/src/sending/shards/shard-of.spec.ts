import { randomUUID } from 'node:crypto';
import { preferredOwners } from './preferred-owners.js';
import { originOf, shardOf, SHARDS } from './shard-of.js';

describe('originOf', () => {
  it.each([
    ['https://user:pass@Hooks.Example.com:443/a?b#c', 'https://hooks.example.com'],
    ['https://hooks.example.com./a', 'https://hooks.example.com'],
    ['https://hooks.example.com.:8443/a', 'https://hooks.example.com:8443'],
    ['http://[::1]:8080/', 'http://[::1]:8080'],
    ['http://0x7f.1/', 'http://127.0.0.1'],
  ])('reads %s', (url, origin) => {
    expect(originOf(url)).toBe(origin);
  });
});

describe('shardOf', () => {
  it('never changes, since it is stored', () => {
    expect(['https://hooks.example.com', 'http://127.0.0.1:8080'].map(shardOf)).toEqual([28, 56]);
  });

  it('spreads origins evenly', () => {
    const counts = new Array<number>(SHARDS).fill(0);
    for (let i = 0; i < 6_400; i += 1) counts[shardOf(`https://tenant-${i}.example.com`)] += 1;
    expect(Math.min(...counts)).toBeGreaterThan(50);
    expect(Math.max(...counts)).toBeLessThan(160);
  });
});

describe('preferredOwners', () => {
  const ids = Array.from({ length: 4 }, () => randomUUID());

  it('assigns all shards to the only instance and none without instances', () => {
    expect(new Set(preferredOwners(ids.slice(0, 1)))).toEqual(new Set(ids.slice(0, 1)));
    expect(preferredOwners([])).toEqual([]);
  });

  it('does not depend on the order of instances', () => {
    expect(preferredOwners([...ids].reverse())).toEqual(preferredOwners(ids));
  });

  it('moves only the shards of an instance that is added or removed', () => {
    const before = preferredOwners(ids.slice(0, 3));
    const after = preferredOwners(ids);
    after.forEach((owner, shard) => expect([before[shard], ids[3]]).toContain(owner));
    expect(after).toHaveLength(SHARDS);
  });

  it('distributes shards evenly', () => {
    const shares = ['a', 'b', 'c', 'd'].map(
      (id) => preferredOwners(['a', 'b', 'c', 'd']).filter((owner) => owner === id).length,
    );
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(8);
  });
});
