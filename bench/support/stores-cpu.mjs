import { cpuOf as cpuOfProcess } from './process-stats.mjs';

/** CPU of each PostgreSQL process when it was seen last: pools close idle connections, and their work still counts. */
const cpuOf = new Map();

/** CPU that Redis and PostgreSQL have used so far, in µs; that of PostgreSQL only on Linux. */
export async function storesCpu(redis, admin) {
  const info = await redis.info('cpu');
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1]);
  const { rows } = await admin.query('select pid from pg_stat_activity');
  for (const { pid } of rows) cpuOf.set(pid, cpuOfProcess(pid) || (cpuOf.get(pid) ?? 0));
  return {
    redis: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6,
    postgres: [...cpuOf.values()].reduce((sum, each) => sum + each, 0),
  };
}
