import fs from 'node:fs';

const MICROS_PER_TICK = 10_000; // Linux counts CPU in hundredths of a second

/** CPU that Redis and PostgreSQL have used so far, in µs; that of PostgreSQL only on Linux. */
export async function storesCpu(redis, admin) {
  const info = await redis.info('cpu');
  const seconds = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)[1]);
  return {
    redis: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6,
    postgres: await postgresCpu(admin),
  };
}

/** The sum over all processes of the server: those that are there now. */
async function postgresCpu(admin) {
  const { rows } = await admin.query('select pid from pg_stat_activity');
  const ticks = rows.map(({ pid }) => {
    const stat = readIfThere(`/proc/${pid}/stat`);
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return Number(user ?? 0) + Number(system ?? 0);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * MICROS_PER_TICK;
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
