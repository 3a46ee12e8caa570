import { createHash } from 'node:crypto';

/** Cells that a refusal, or a script that only reads, reads at a time. */
const CHUNK = 32;

/** The parts that both scripts have. */
const FUNCTIONS = `
local window = tonumber(ARGV[1])
local time = tonumber(redis.call('TIME')[1]) + tonumber(ARGV[2])

local function read(cell)
  local colon = string.find(cell, ':', 1, true)
  return tonumber(string.sub(cell, 1, colon - 1)), tonumber(string.sub(cell, colon + 1))
end

-- Returns the stored sum, or adds up the cells when the sum was lost.
local function sum_of(cells, sum)
  local stored = redis.call('GET', sum)
  if stored then return tonumber(stored) end
  local total = 0
  for _, cell in ipairs(redis.call('LRANGE', cells, 0, -1)) do total = total + select(2, read(cell)) end
  return total
end

-- Returns the second at which that many of the oldest requests have left. Cells that are too old may be stored with the others.
local function free_at(cells, surplus)
  for from = 0, 2 * window, ${CHUNK} do
    for _, cell in ipairs(redis.call('LRANGE', cells, from, from + ${CHUNK - 1})) do
      local second, count = read(cell)
      surplus = surplus - count
      if surplus <= 0 then return second + window + 1 end
    end
  end
end
`;

/**
 * Charges one request to each of the given windows; the same window may be given more than once.
 * A window is a sliding hour in cells of one second, oldest first: one key is a list of `second:count`, the next one
 * their sum. A cell is removed only when its whole second is more than an hour ago, so that no hour allows more than
 * the limit. Refused requests are not counted, so that Retry-After is exact. The number of steps is constant on average;
 * a refusal reads from the oldest cell until enough requests have left for one more.
 *
 * KEYS: list and sum of each window. ARGV: window in seconds, clock offset in seconds, then the limit of each window.
 * Returns four numbers for each: allowed (0 or 1), remaining, reset, retry after.
 */
export const KEY_WINDOW_SCRIPT = `${FUNCTIONS}
-- Removes old cells. Returns the second of the oldest cell that still counts, and the number of removed requests.
local function drop_old(cells, now)
  local left = 0
  while true do
    local head = redis.call('LINDEX', cells, 0)
    if not head then return nil, left end
    local second, count = read(head)
    if second + window >= now then return second, left end
    redis.call('LPOP', cells)
    left = left + count
  end
end

local function charge(cells, sum, limit)
  local now, first, left, last_second, last_count, total = time, nil, 0, 0, 0, 0
  local last = redis.call('LINDEX', cells, -1)
  if last then
    last_second, last_count = read(last)
    if last_second > now then now = last_second end
    total = sum_of(cells, sum)
    first, left = drop_old(cells, now)
    total = first and total - left or 0
  end
  if total >= limit then
    if left > 0 then redis.call('SET', sum, total, 'KEEPTTL') end
    local free = free_at(cells, total - limit + 1)
    return 0, 0, free, free - now
  end
  total = total + 1
  if first and last_second == now then
    redis.call('LSET', cells, -1, now .. ':' .. (last_count + 1))
    redis.call('SET', sum, total, 'KEEPTTL')
  else
    redis.call('RPUSH', cells, now .. ':1')
    redis.call('SET', sum, total, 'EX', window + 2)
    redis.call('EXPIRE', cells, window + 2)
  end
  return 1, limit - total, (first or now) + window + 1, 0
end

local results = {}
for i = 1, #KEYS / 2 do
  local allowed, remaining, reset, retry_after = charge(KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[2 + i]))
  local n = 4 * i
  results[n - 3], results[n - 2], results[n - 1], results[n] = allowed, remaining, reset, retry_after
end
return results
`;

export const KEY_WINDOW_SCRIPT_SHA = createHash('sha1').update(KEY_WINDOW_SCRIPT).digest('hex');

/**
 * Reads one window and changes nothing.
 *
 * KEYS: list and sum of the window. ARGV: window in seconds, clock offset in seconds, limit.
 * Returns four numbers: allowed (whether a request would be), remaining, reset (now, when nothing counts), retry after.
 */
export const READ_WINDOW_SCRIPT = `${FUNCTIONS}
local cells, sum, limit = KEYS[1], KEYS[2], tonumber(ARGV[3])
local last = redis.call('LINDEX', cells, -1)
if not last then return { 1, limit, time, 0 } end
local now = math.max(time, (read(last)))

-- The second of the oldest cell that still counts, and the number of requests before it.
local first, left, from = nil, 0, 0
while not first do
  local chunk = redis.call('LRANGE', cells, from, from + ${CHUNK - 1})
  if #chunk == 0 then return { 1, limit, now, 0 } end
  for _, cell in ipairs(chunk) do
    local second, count = read(cell)
    if second + window >= now then
      first = second
      break
    end
    left = left + count
  end
  from = from + ${CHUNK}
end

local total = sum_of(cells, sum) - left
if total < limit then return { 1, limit - total, first + window + 1, 0 } end
local free = free_at(cells, left + total - limit + 1)
return { 0, 0, free, free - now }
`;

export const READ_WINDOW_SCRIPT_SHA = createHash('sha1').update(READ_WINDOW_SCRIPT).digest('hex');
