import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import { startStores, type Stores } from '@rmm/testing-services';
import { SsoReauthGrantsService } from './sso-reauth-grants.service.js';

describe('SsoReauthGrantsService', () => {
  let stores: Stores;
  let redis: Redis;
  let grants: SsoReauthGrantsService;
  const owner = { userId: randomUUID(), sessionId: randomUUID() };

  beforeAll(async () => {
    stores = await startStores();
    redis = new Redis(stores.redisUrl);
    grants = new SsoReauthGrantsService({ shared: redis } as unknown as RedisConnections);
  }, 120_000);
  afterAll(async () => {
    redis?.disconnect();
    await stores?.stop();
  });

  it('is accepted for one of concurrent callers', async () => {
    const id = await grants.create(owner);
    const used = await Promise.all(Array.from({ length: 20 }, () => grants.consume(id, owner)));
    expect(used.filter((isUsed) => isUsed)).toHaveLength(1);
  });

  it('is accepted for the session that asked for it, and stays valid when another one tries', async () => {
    const id = await grants.create(owner);
    expect(await grants.consume(id, { ...owner, sessionId: randomUUID() })).toBe(false);
    expect(await grants.consume(id, { ...owner, userId: randomUUID() })).toBe(false);
    expect(await grants.consume(id, owner)).toBe(true);
  });

  it.each([undefined, '', 'unknown'])('refuses the id %p', async (id) => {
    expect(await grants.consume(id, owner)).toBe(false);
  });

  it('ends after five minutes and stores no id in the clear', async () => {
    await redis.flushall();
    const id = await grants.create(owner);
    const [key = '', ...more] = await redis.keys('*');
    expect([key.includes(id), more]).toEqual([false, []]);
    const seconds = await redis.ttl(key);
    expect(seconds).toBeGreaterThan(240);
    expect(seconds).toBeLessThanOrEqual(300);
  });

  it('fails as unavailable without Redis', async () => {
    const offline = {
      set: () => Promise.reject(new Error('offline')),
      eval: () => Promise.reject(new Error('offline')),
    };
    const service = new SsoReauthGrantsService({ shared: offline } as unknown as RedisConnections);
    await expect(service.create(owner)).rejects.toThrow(UnavailableError);
    await expect(service.consume('id', owner)).rejects.toThrow(UnavailableError);
  });
});
