import fs from 'node:fs';

const MICROS_PER_TICK = 10_000; // Linux counts CPU in hundredths of a second

/** Ticks of each PostgreSQL process when it was seen last: pools close idle connections, and their work still counts. */
const ticksOf = new Map();

/** CPU that Redis and PostgreSQL have used so far, in µs; that of PostgreSQL only on Linux. */
export async function storesCpu(redis, admin) {
  const info = await redis.info('cpu');
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1]);
  const { rows } = await admin.query('select pid from pg_stat_activity');
  for (const { pid } of rows) ticksOf.set(pid, ticksUntilNow(pid) ?? ticksOf.get(pid) ?? 0);
  return {
    redis: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6,
    postgres: [...ticksOf.values()].reduce((sum, each) => sum + each, 0) * MICROS_PER_TICK,
  };
}

/** User and system time of a process; undefined when it has gone, or this is not Linux. */
function ticksUntilNow(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
