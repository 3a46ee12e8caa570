import { Cluster } from 'ioredis';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { ProcessGroup } from '../dist/processes/process-group.js';
import { startRedisCluster } from '../dist/stores/redis.js';

describe('a private Redis Cluster', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-redis-cluster-'));
  const data = path.join(dir, 'data');
  const ports = {};
  let group;

  const start = async () => {
    await group?.release();
    group = new ProcessGroup();
    return startRedisCluster({ dir: data, group, say: () => {}, onChange: () => {}, ports, isThrowaway: false });
  };
  const use = async ({ url, otherHosts }, work) => {
    const { host, password } = new URL(url);
    const redis = new Cluster([host, ...otherHosts], { redisOptions: { password } });
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  };
  const keys = Array.from({ length: 50 }, (_, n) => `key-${n}`);

  fs.mkdirSync(data);
  after(async () => {
    await group?.release();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  it('spreads the keys over three servers with a replica each, and keeps them at the next start', async () => {
    await use(await start(), async (redis) => {
      for (const key of keys) await redis.set(key, `value of ${key}`);
      const shards = redis.nodes('master');
      assert.equal(shards.length, 3);
      for (const server of shards) {
        const size = await server.dbsize();
        assert.ok(size > 0 && size < keys.length, `a server has ${size} keys`);
        assert.match(await server.info('replication'), /connected_slaves:1\r/);
      }
    });
    const kept = await use(await start(), (redis) => Promise.all(keys.map((key) => redis.get(key))));
    assert.deepEqual(
      kept,
      keys.map((key) => `value of ${key}`),
    );
  });
});
