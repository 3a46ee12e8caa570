import { isQuick } from './options.mjs';

const HOUR_SECONDS = 3_600;
const SIMULATED_HOURS = isQuick ? 1 : 3;
const AT_ONCE = 10; // requests under way at each replica
const BURSTS = [60, 120, 300];

/**
 * Hammers one key at several replicas while the clock of the window's script is moved forward, step by step.
 * @returns how many requests of the fullest hour were over the limit, and how many were accepted before the second
 *   that Retry-After named; both by the moved times of request and response alone, so that only certain cases count
 */
export async function hammerThroughHours(replicas, { path, key, limit }) {
  const admissions = [];
  let [offsetSeconds, asked, steps, early] = [0, 0, 0, 0];
  const now = () => Date.now() / 1_000 + offsetSeconds;

  const ask = async ({ port }) => {
    const sentAt = now();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-api-key': key } });
    await response.arrayBuffer();
    asked += 1;
    if (response.status === 200) admissions.push({ sentAt, respondedAt: now() });
    else if (response.status !== 429) throw new Error(`${path}: ${response.status}`);
    return { status: response.status, opensAt: Math.floor(sentAt) + Number(response.headers.get('retry-after')) };
  };
  const hammer = (times) => {
    const caller = async (replica) => {
      for (let i = 0; i < times / (replicas.length * AT_ONCE); i++) await ask(replica);
    };
    return Promise.all(replicas.flatMap((replica) => Array.from({ length: AT_ONCE }, () => caller(replica))));
  };
  const move = async (seconds) => {
    offsetSeconds += seconds;
    await Promise.all(replicas.map((replica) => replica.send({ offsetSeconds })));
  };

  for (; offsetSeconds < SIMULATED_HOURS * HOUR_SECONDS; steps++) {
    await hammer(BURSTS[steps % BURSTS.length]);
    const refusal = steps % 9 === 8 ? await ask(replicas[0]) : undefined;
    if (refusal?.status !== 429) {
      await move(97 + 61 * (steps % 4));
      continue;
    }
    const before = admissions.length;
    await move(refusal.opensAt - 1 - Math.floor(now()));
    await hammer(BURSTS[0]);
    early += admissions.slice(before).filter(({ respondedAt }) => Math.floor(respondedAt) < refusal.opensAt).length;
    await move(1);
  }
  const fullest = fullestHour(admissions);
  return {
    over: Math.max(0, fullest - limit),
    fullest,
    early,
    accepted: admissions.length,
    asked,
    steps,
    offsetSeconds,
  };
}

/** Most admissions of which the first was sent and the last responded to within one hour. */
function fullestHour(admissions) {
  const from = ({ sentAt }) =>
    admissions.filter((each) => each.sentAt >= sentAt && each.respondedAt - sentAt <= HOUR_SECONDS).length;
  return Math.max(...admissions.map(from));
}
