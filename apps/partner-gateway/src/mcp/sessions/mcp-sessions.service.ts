import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { RateLimitedError, RedisConnections } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../../config.js';
import { McpSessionNotFound, McpSessionOfAnotherKey, McpSessionRequired } from '../mcp.errors.js';

const SESSION_ID = /^mcp_[A-Za-z0-9_-]{32}$/;
const ID_BYTES = 24;

/**
 * Opens a session, unless the key has as many as it may have open.
 * KEYS: the sessions of the key by the time of their last use. ARGV: id, lifetime in ms, most sessions, clock offset in ms.
 * Returns 0, or the milliseconds after which the session that was not used for longest ends.
 */
const OPEN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4])
local ttl = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ttl)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  return math.max(1, tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) + ttl - now)
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ttl)
return 0
`;

/**
 * Uses a session. KEYS: the sessions of the key. ARGV: id, lifetime in ms, clock offset in ms.
 * Returns 1 for an open session, else 0.
 */
const USE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])
local used = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not used or tonumber(used) + tonumber(ARGV[2]) <= now then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;

const sessionsOf = (keyId: string) => `rmm:mcp:sessions:{${keyId}}`;
const ownerOf = (id: string) => `rmm:mcp:session:{${id}}`;

/** Sessions of MCP clients in Redis, so that any replica serves them; timed by the clock of Redis. */
@Injectable()
export class McpSessions {
  /** Added to the time of Redis; specs change it instead of waiting for minutes. */
  clockOffsetSeconds = 0;
  private readonly ttlMs: number;
  private readonly maxSessions: number;

  constructor(
    private readonly redis: RedisConnections,
    @Inject(PARTNER_GATEWAY_CONFIG) { mcp }: Pick<PartnerGatewayConfig, 'mcp'>,
  ) {
    this.ttlMs = mcp.sessionTtlSeconds * 1_000;
    this.maxSessions = mcp.maxSessions;
  }

  /**
   * Opens a session of an API key.
   * @returns its id
   * @throws RateLimitedError  when the key has too many; UnavailableError  503 when Redis is unavailable
   */
  open(keyId: string): Promise<string> {
    const id = `mcp_${randomBytes(ID_BYTES).toString('base64url')}`;
    return this.redis.use(async (redis) => {
      await redis.set(ownerOf(id), keyId, 'PX', this.ttlMs);
      const { ttlMs, maxSessions, offsetMs } = this;
      const waitMs = Number(await redis.eval(OPEN, 1, sessionsOf(keyId), id, ttlMs, maxSessions, offsetMs));
      if (waitMs === 0) return id;
      await redis.del(ownerOf(id));
      throw new RateLimitedError(undefined, {
        message: `The key has ${maxSessions} open sessions, the most it may have`,
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      });
    });
  }

  /**
   * Checks a session and prolongs it.
   * @throws McpSessionRequired 400 without an id, McpSessionNotFound 404, McpSessionOfAnotherKey 403; UnavailableError
   */
  async use(keyId: string, id: unknown): Promise<void> {
    if (id === undefined || id === '') throw new McpSessionRequired();
    if (typeof id !== 'string' || !SESSION_ID.test(id)) throw new McpSessionNotFound();
    await this.redis.use(async (redis) => {
      if ((await redis.eval(USE, 1, sessionsOf(keyId), id, this.ttlMs, this.offsetMs)) === 1) {
        await redis.pexpire(ownerOf(id), this.ttlMs);
        return;
      }
      const owner = await redis.get(ownerOf(id));
      throw owner === null || owner === keyId ? new McpSessionNotFound() : new McpSessionOfAnotherKey();
    });
  }

  private get offsetMs(): number {
    return this.clockOffsetSeconds * 1_000;
  }
}
