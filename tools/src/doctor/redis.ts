import { Redis } from 'ioredis';
import { isAtLeast } from '../stores/programs.js';
import { REDIS } from '../stores/redis.js';
import { checkClock } from './clock.js';
import type { Configurations } from './configuration.js';
import { reasonOf, type Report } from './finding.js';

const FULL = 0.8;

/** Checks each Redis that a service uses, and each server of a cluster. */
export async function checkRedis(configurations: Configurations, report: Report): Promise<void> {
  const urls = [...configurations.values()].flatMap(({ redisUrl, redisClusterNodes }) => [
    redisUrl,
    ...redisClusterNodes.map((host) => String(Object.assign(new URL(redisUrl), { host }))),
  ]);
  for (const url of new Set(urls)) await checkServer(url, report);
  report.checked.push('Redis');
}

async function checkServer(url: string, report: Report): Promise<void> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    retryStrategy: () => null,
  });
  let problem: Error | null = null;
  client.on('error', (error: Error) => (problem = error));
  try {
    await client.connect();
    const from = Date.now();
    const [seconds = 0, micros = 0] = (await client.time()).map(Number);
    checkClock('Redis', seconds * 1_000 + micros / 1_000, from, report);
    const info = parseInfo(await client.info());
    checkMemory(info, report);
    await checkPersistence(client, info, report);
    if (info['cluster_enabled'] === '1') await checkCluster(client, report);
  } catch (error) {
    report.problem('Redis', {
      what: `${new URL(url).host} cannot be used: ${reasonOf(problem ?? error)}`,
      why: 'no service is ready without it; sign-in is refused',
      action: 'start Redis, or correct REDIS_URL and its password',
    });
  } finally {
    client.disconnect();
  }
}

type Info = Record<string, string>;

const parseInfo = (text: string): Info =>
  Object.fromEntries([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, k, v]) => [k, v]));

function checkMemory(info: Info, report: Report): void {
  const { redis_version: version = '', maxmemory_policy: policy, used_memory: used, maxmemory: max } = info;
  if (!isAtLeast(version, REDIS.minimum)) {
    report.problem('Redis', {
      what: `version ${version} is older than ${REDIS.minimum}`,
      why: 'background jobs use what it does not have',
      action: 'upgrade Redis, or use Valkey',
    });
  }
  if (policy !== 'noeviction') {
    report.problem('Redis', {
      what: `maxmemory-policy is ${policy}`,
      why: 'it removes counters of rate limits and background jobs when memory is short',
      action: 'set maxmemory-policy noeviction',
    });
  }
  if (Number(max) > 0 && Number(used) > FULL * Number(max)) {
    report.problem('Redis', {
      what: `${Math.round((100 * Number(used)) / Number(max))} % of maxmemory is used`,
      why: 'a full Redis refuses writes, and with them sign-in and background jobs',
      action: 'raise maxmemory',
    });
  }
}

async function checkCluster(client: Redis, report: Report): Promise<void> {
  const { cluster_state: state, cluster_slots_ok: slots } = parseInfo(String(await client.cluster('INFO')));
  if (state === 'ok') return;
  report.problem('Redis', {
    what: `the state of the cluster is ${state}; ${slots} of its 16384 slots can be used`,
    why: 'commands for the other keys are refused, and with them sign-in and requests with API keys',
    action: 'start the missing servers, or promote their replicas: redis-cli --cluster fix',
  });
}

async function checkPersistence(client: Redis, info: Info, report: Report): Promise<void> {
  const failed = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter((name) => (info[name] ?? 'ok') !== 'ok');
  if (failed.length) {
    report.problem('Redis', {
      what: `its last write to disk failed (${failed.join(', ')})`,
      why: 'it refuses writes, or loses everything at a restart',
      action: 'free disk space and see the log of Redis',
    });
  }
  // Hosted servers refuse CONFIG; then only the append-only file is known.
  const snapshots = await client.config('GET', 'save').then(
    (reply) => (reply as string[])[1] !== '',
    () => null,
  );
  if (info['aof_enabled'] === '1' || snapshots) return;
  report.note('Redis', {
    what: snapshots === null ? 'the append-only file is off, and CONFIG is refused' : 'persistence is off',
    why: 'a restart forgets lockouts, rate-limit windows and MCP sessions; nothing else is lost',
    action: 'set appendonly yes',
  });
}
