import { randomUUID } from 'node:crypto';
import { HealthRegistry, Logger, RateLimitedError, RedisConnections, UnavailableError } from '@rmm/service-kit';
import { startStores, type Stores } from '@rmm/testing-services';
import { McpSessionNotFound, McpSessionOfAnotherKey, McpSessionRequired } from '../mcp.errors.js';
import { McpSessions } from './mcp-sessions.service.js';

const MCP = { messagesPerMinute: 120, streamsPerMinute: 30, maxSessions: 5, sessionTtlSeconds: 660 };

describe('McpSessions', () => {
  let stores: Stores;
  let connections: RedisConnections[];

  /** Returns the sessions as another replica sees them. */
  function replica(): McpSessions {
    const logger = Logger.create({ service: 'partner-gateway', level: 'error' });
    const redis = new RedisConnections(
      { redisUrl: stores.redisUrl, redisClusterNodes: [] },
      new HealthRegistry(),
      logger,
    );
    connections.push(redis);
    return new McpSessions(redis, { mcp: MCP });
  }

  beforeAll(async () => {
    stores = await startStores();
    connections = [];
  });
  afterAll(async () => {
    for (const redis of connections) await redis.onApplicationShutdown();
    await stores.stop();
  });

  async function connected(): Promise<McpSessions> {
    const sessions = replica();
    await connections.at(-1)?.onModuleInit();
    return sessions;
  }

  it('opens sessions that every replica accepts, with the key that opened them', async () => {
    const [one, other] = [await connected(), await connected()];
    const keyId = randomUUID();
    const id = await one.open(keyId);
    expect(id).toMatch(/^mcp_[A-Za-z0-9_-]{32}$/);
    await expect(other.use(keyId, id)).resolves.toBeUndefined();
    await expect(other.use(randomUUID(), id)).rejects.toThrow(McpSessionOfAnotherKey);
    await expect(other.use(keyId, id)).resolves.toBeUndefined();
  });

  it('refuses a call without a session, and one with a session that never was', async () => {
    const sessions = await connected();
    for (const none of [undefined, ''])
      await expect(sessions.use(randomUUID(), none)).rejects.toThrow(McpSessionRequired);
    for (const id of [`mcp_${'x'.repeat(32)}`, 'mcp_x', 'x', ['a', 'b'], 7]) {
      await expect(sessions.use(randomUUID(), id)).rejects.toThrow(McpSessionNotFound);
    }
  });

  it('ends a session eleven minutes after its last use', async () => {
    const sessions = await connected();
    const keyId = randomUUID();
    const id = await sessions.open(keyId);
    sessions.clockOffsetSeconds = 650;
    await sessions.use(keyId, id);
    sessions.clockOffsetSeconds = 1_300;
    await sessions.use(keyId, id);
    sessions.clockOffsetSeconds = 1_961;
    await expect(sessions.use(keyId, id)).rejects.toThrow(McpSessionNotFound);
  });

  it('keeps five sessions of a key open, also when they are opened at once, and admits another when one has ended', async () => {
    const sessions = await connected();
    const keyId = randomUUID();
    const opened = await Promise.allSettled(Array.from({ length: 12 }, () => sessions.open(keyId)));
    const refused = opened.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    expect(refused).toHaveLength(7);
    for (const reason of refused) {
      expect(reason).toBeInstanceOf(RateLimitedError);
      expect((reason as RateLimitedError).retryAfterSeconds).toBeGreaterThan(600);
      expect((reason as RateLimitedError).retryAfterSeconds).toBeLessThanOrEqual(660);
    }
    await expect(sessions.open(randomUUID())).resolves.toMatch(/^mcp_/);
    sessions.clockOffsetSeconds = 661;
    await expect(sessions.open(keyId)).resolves.toMatch(/^mcp_/);
  });

  it('throws UnavailableError while Redis is away', async () => {
    const sessions = await connected();
    await stores.redis.stop();
    await expect(sessions.open(randomUUID())).rejects.toThrow(UnavailableError);
    await expect(sessions.use(randomUUID(), `mcp_${'x'.repeat(32)}`)).rejects.toThrow(UnavailableError);
  });
});
