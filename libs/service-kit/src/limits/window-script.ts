/**
 * One exact sliding window as a Redis list of the admitted attempts' times, oldest first (ten bytes an attempt).
 * KEYS[1] the window; ARGV: limit, window in ms, 1 when refused attempts count.
 * Returns { allowed 0 or 1, attempts left, ms until the next attempt would be let in }.
 * A window that counts refusals keeps its newest `limit` attempts, so it opens again only after a quiet pause.
 */
export const WINDOW_SCRIPT = `
local limit, window, count_refused = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = tonumber(redis.call('LINDEX', KEYS[1], 0))
while oldest and oldest <= now - window do
  redis.call('LPOP', KEYS[1])
  oldest = tonumber(redis.call('LINDEX', KEYS[1], 0))
end
local used = redis.call('LLEN', KEYS[1])
if used < limit then
  redis.call('RPUSH', KEYS[1], now)
  redis.call('PEXPIRE', KEYS[1], window)
  return { 1, limit - used - 1, 0 }
end
if count_refused then
  redis.call('RPUSH', KEYS[1], now)
  redis.call('LTRIM', KEYS[1], -limit, -1)
  redis.call('PEXPIRE', KEYS[1], window)
  oldest = tonumber(redis.call('LINDEX', KEYS[1], 0))
end
return { 0, 0, oldest + window - now }
`;
