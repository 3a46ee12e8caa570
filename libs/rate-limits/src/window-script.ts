/**
 * One exact sliding window as a Redis list of the times of counted attempts, oldest first (ten bytes an attempt), timed
 * by the clock of Redis. Takes and returns what rate-limiter-flexible's own fixed-window script does:
 * ARGV: points (always 1), window in seconds, limit, window in seconds.
 * Returns { consumed: more than the limit when refused, milliseconds until the oldest counted attempt expires }.
 * A key under `rmm:limit:guess:` counts refused attempts too and keeps its newest `limit` attempts, so it admits again
 * only after a pause.
 */
export const SLIDING_WINDOW_SCRIPT = `
local key, window, limit = KEYS[1], tonumber(ARGV[2]) * 1000, tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = tonumber(redis.call('LINDEX', key, 0))
while oldest and oldest <= now - window do
  redis.call('LPOP', key)
  oldest = tonumber(redis.call('LINDEX', key, 0))
end
local used = redis.call('LLEN', key)
local admitted = used < limit
if admitted or string.find(key, 'rmm:limit:guess:', 1, true) == 1 then
  redis.call('RPUSH', key, now)
  redis.call('LTRIM', key, -limit, -1)
  redis.call('PEXPIRE', key, window)
  oldest = tonumber(redis.call('LINDEX', key, 0))
end
return { used + 1, (oldest or now) + window - now }
`;
