import { type RedisConnections, UnavailableError } from '@rmm/service-kit';
import { createHash } from 'node:crypto';

/** What a window says of one request. */
export interface WindowVerdict {
  admitted: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds: when the oldest counted request, or the one that stands in the way, leaves the window. */
  resetAtSeconds: number;
  /** Whole seconds until a request would be admitted; 0 when this one was. */
  retryAfterSeconds: number;
}

export const WINDOW_SECONDS = 3_600;

/**
 * A sliding hour in cells of one second, oldest first: KEYS[1] is a list of `second:count`, KEYS[2] their sum.
 * A cell leaves only when its whole second is more than an hour ago, so no hour ever admits more than the limit.
 * Refused requests are not counted, so that Retry-After is honest. Costs a constant number of steps on average.
 * ARGV: limit, window in seconds. Returns admitted (0 or 1), remaining, reset, retry after.
 */
const SCRIPT = `
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(redis.call('TIME')[1])
local function cell(text)
  local second, count = string.match(text, '(%d+):(%d+)')
  return tonumber(second), tonumber(count)
end
local last = redis.call('LINDEX', KEYS[1], -1)
local last_second, last_count = 0, 0
if last then last_second, last_count = cell(last) end
if last_second > now then now = last_second end
local total = tonumber(redis.call('GET', KEYS[2]) or '0')
local first = nil
while true do
  local head = redis.call('LINDEX', KEYS[1], 0)
  if not head then break end
  local second, count = cell(head)
  if second + window >= now then first = second break end
  redis.call('LPOP', KEYS[1])
  total = total - count
end
if not first then total = 0 end
if total < limit then
  if first and last_second == now then redis.call('LSET', KEYS[1], -1, now .. ':' .. (last_count + 1))
  else redis.call('RPUSH', KEYS[1], now .. ':1') end
  total = total + 1
  redis.call('SET', KEYS[2], total, 'EX', window + 2)
  redis.call('EXPIRE', KEYS[1], window + 2)
  return { 1, limit - total, (first or now) + window + 1, 0 }
end
redis.call('SET', KEYS[2], total, 'KEEPTTL')
local free_at, surplus = now + window + 1, total - limit + 1
for _, text in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local second, count = cell(text)
  surplus = surplus - count
  if surplus <= 0 then free_at = second + window + 1 break end
end
return { 0, 0, free_at, math.max(1, free_at - now) }
`;
const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

/** The sliding hour of a key, shared by the whole fleet: one call to Redis, counted by Redis' clock. */
export class KeyWindow {
  constructor(private readonly redis: Pick<RedisConnections, 'shared'>) {}

  /**
   * Charges one request.
   * @param bucket  whose window: `api:<keyId>`
   * @param limit  requests in any hour
   * @throws UnavailableError  503 when the window cannot be read; never a pass
   */
  async charge(bucket: string, limit: number): Promise<WindowVerdict> {
    try {
      const [admitted, remaining, resetAtSeconds, retryAfterSeconds] = await this.run(bucket, limit);
      return { admitted: admitted === 1, limit, remaining, resetAtSeconds, retryAfterSeconds };
    } catch (cause) {
      throw new UnavailableError(undefined, { cause, logDetails: { window: bucket } });
    }
  }

  private async run(bucket: string, limit: number): Promise<[number, number, number, number]> {
    const name = `rmm:keys:window:{${bucket}}`;
    const rest = [2, `${name}:cells`, `${name}:total`, limit, WINDOW_SECONDS] as const;
    const redis = this.redis.shared;
    try {
      return (await redis.evalsha(SCRIPT_SHA, ...rest)) as [number, number, number, number];
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return (await redis.eval(SCRIPT, ...rest)) as [number, number, number, number];
    }
  }
}
