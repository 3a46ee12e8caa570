import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { ConflictError, UnavailableError } from '@rmm/errors';
import { eventually, startStores, type Stores, type TcpProxy } from '@rmm/testing-services';
import { HealthRegistry } from '../health/health-registry.service.js';
import { Logger } from '../logging/logger.service.js';
import { RedisConnections } from './redis-connections.service.js';

describe('RedisConnections', () => {
  let stores: Stores;
  let proxy: TcpProxy;
  let health: HealthRegistry;
  let redis: RedisConnections;
  const logged: string[] = [];

  beforeAll(async () => {
    stores = await startStores();
    proxy = await stores.gate(stores.redisUrl);
  });
  afterAll(() => stores.stop());
  beforeEach(async () => {
    logged.length = 0;
    health = new HealthRegistry();
    const sink = { write: (line: string) => void logged.push(line) };
    const logger = Logger.create({ service: 'identity', level: 'info', sink });
    redis = new RedisConnections({ redisUrl: proxy.url, redisClusterNodes: [] }, health, logger);
    await redis.onModuleInit();
  });
  afterEach(async () => {
    await redis.onApplicationShutdown();
    await proxy.open();
  });

  it('is connected when the module has started, and shares one connection', async () => {
    expect(redis.shared.status).toBe('ready');
    expect(redis.shared).toBe(redis.shared);
    await expect(health.checks.get('redis')?.()).resolves.toBeUndefined();
  });

  it('turns failures into 503 at once while Redis is away, and recovers', async () => {
    await proxy.shut();
    await eventually(() => expect(redis.shared.status).not.toBe('ready'));
    await expect(redis.use((shared) => shared.get('a'))).rejects.toBeInstanceOf(UnavailableError);
    await expect(health.checks.get('redis')?.()).rejects.toThrow();
    await eventually(() => expect(logged.join()).toContain('Redis connection lost'));
    await proxy.open();
    await eventually(() => redis.use((shared) => shared.set('a', '1')), { timeoutMs: 10_000 });
    expect(logged.join()).toContain('Redis connection is back');
  });

  it('passes errors of the domain on', async () => {
    await expect(redis.use(() => Promise.reject(new ConflictError()))).rejects.toBeInstanceOf(ConflictError);
  });

  it('opens duplicates that wait for Redis', async () => {
    await proxy.shut();
    const waiting = redis.duplicate().ping();
    await proxy.open();
    expect(await waiting).toBe('PONG');
  });

  it('connects again to a server that was replaced without closing the connection', async () => {
    proxy.replace();
    await expect(redis.use((shared) => shared.get('a'))).rejects.toBeInstanceOf(UnavailableError);
    await eventually(() => redis.use((shared) => shared.set('a', '1')), { timeoutMs: 30_000 });
    expect(logged.join()).toContain('Redis does not respond; connecting again');
  });

  it('sends a command of a duplicate again to a server that was replaced without closing the connection', async () => {
    const duplicate = redis.duplicate();
    await duplicate.ping();
    proxy.replace();
    expect(await duplicate.ping()).toBe('PONG');
  });

  it('closes every connection at shutdown', async () => {
    const duplicate = redis.duplicate();
    await duplicate.ping();
    await redis.onApplicationShutdown();
    await eventually(() => expect([redis.shared.status, duplicate.status]).toEqual(['end', 'end']));
  });
});

describe('RedisConnections to a cluster', () => {
  let server: Server;
  let state: 'ok' | 'fail';
  let redis: RedisConnections;

  beforeEach(async () => {
    state = 'ok';
    server = await startCluster(() => state);
    const { port } = server.address() as AddressInfo;
    const logger = Logger.create({ service: 'identity', level: 'info', sink: { write: () => undefined } });
    const config = { redisUrl: `redis://127.0.0.1:${port}`, redisClusterNodes: [`redis://127.0.0.1:${port}`] };
    redis = new RedisConnections(config, new HealthRegistry(), logger);
  });
  afterEach(async () => {
    await redis.onApplicationShutdown();
    server.close();
  });

  it('finishes connecting again while a shard has failed, for which workers of jobs wait', async () => {
    const duplicate = redis.duplicate();
    await once(duplicate, 'ready');
    state = 'fail';
    duplicate.disconnect();
    await once(duplicate, 'end');
    await duplicate.connect();
    expect(duplicate.status).toBe('ready');
  });
});

/** Starts a server that owns all slots of a cluster, and reports the state of that cluster. */
async function startCluster(state: () => string): Promise<Server> {
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
  const server = createServer((socket) => {
    const { port } = server.address() as AddressInfo;
    const responses: Record<string, string> = {
      'cluster slots': `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n${bulk('127.0.0.1')}:${port}\r\n`,
      'cluster info': bulk(`cluster_state:${state()}\r\n`),
      info: bulk('redis_version:7.0.0\r\n'),
    };
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const command of data
        .toString()
        .split(/\*\d+\r\n/)
        .slice(1)) {
        const words = command.split('\r\n').filter((_, i) => i % 2 === 1);
        socket.write(responses[words.join(' ').toLowerCase()] ?? '+OK\r\n');
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}
