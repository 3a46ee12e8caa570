import { Redis } from 'ioredis';
import { FleetError } from '../console.js';
import { poll } from '../processes/run.js';

const SLOTS = 16_384;

/**
 * Forms a cluster: the first half of the servers share the slots, and each of the others is a replica of one of them.
 * Servers that belong to a cluster already keep their parts, and learn the addresses that the others have now.
 * @param buses  the ports through which the servers talk to each other
 */
export async function formRedisCluster(urls: readonly string[], buses: readonly number[]): Promise<void> {
  const servers = urls.map((url) => new Redis(url, { maxRetriesPerRequest: 1 }));
  try {
    const [first] = servers;
    if (!first) return;
    for (const [index, url] of urls.entries()) {
      const { hostname, port } = new URL(url);
      await first.call('CLUSTER', 'MEET', hostname, port, String(buses[index]));
    }
    if (!(await hasState(first, 'cluster_slots_assigned', SLOTS))) await shareSlots(servers);
    const addresses = urls.map((url, index) => `:${new URL(url).port}@${buses[index]} `);
    await untilAll(servers, async (server) => {
      const nodes = String(await server.cluster('NODES'));
      return addresses.every((address) => nodes.includes(address)) && hasState(server, 'cluster_state', 'ok');
    });
    for (const server of servers) await followAgain(server);
    await untilAll(servers, isComplete);
  } finally {
    for (const server of servers) server.disconnect();
  }
}

async function shareSlots(servers: readonly Redis[]): Promise<void> {
  const shards = servers.length / 2;
  for (const [index, server] of servers.slice(0, shards).entries()) {
    const from = Math.ceil((index * SLOTS) / shards);
    await server.cluster('ADDSLOTSRANGE', from, Math.ceil(((index + 1) * SLOTS) / shards) - 1);
  }
  for (const [index, replica] of servers.slice(shards).entries()) {
    const id = await servers[index]?.cluster('MYID');
    // The replica refuses it until it knows the server.
    const follow = () => replica.cluster('REPLICATE', String(id)).then(Boolean, () => false);
    await poll(follow, { timeoutMs: 30_000, everyMs: 200 });
  }
}

/** A replica does not find a server that has another port since the last run, until it is named again. */
async function followAgain(server: Redis): Promise<void> {
  const [, id] = /myself,slave (\w+)/.exec(String(await server.cluster('NODES'))) ?? [];
  if (id !== undefined) await server.cluster('REPLICATE', id);
}

/** Returns whether a server is no replica, or has the keys of the one that it replicates. */
const isComplete = async (server: Redis): Promise<boolean> =>
  /role:master|master_link_status:up/.test(await server.info('replication'));

async function untilAll(servers: readonly Redis[], check: (server: Redis) => Promise<boolean>): Promise<void> {
  const areAll = async () => (await Promise.all(servers.map(check))).every(Boolean);
  if (await poll(areAll, { timeoutMs: 60_000, everyMs: 200 })) return;
  throw new FleetError('The servers of Redis form no cluster. See their logs, or remove their data: ./fleet reset');
}

async function hasState(server: Redis, name: string, value: string | number): Promise<boolean> {
  const info = String(await server.cluster('INFO'));
  return info.split('\r\n').includes(`${name}:${value}`);
}
