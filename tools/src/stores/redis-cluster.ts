import { Redis } from 'ioredis';
import { FleetError } from '../console.js';
import { poll } from '../processes/run.js';

const SLOTS = 16_384;

/**
 * Forms a cluster: the first half of the servers share the slots, and each of the others is a replica of one of them.
 * Servers that belong to a cluster already keep their parts.
 * @param buses  the ports through which the servers talk to each other
 */
export async function formRedisCluster(urls: readonly string[], buses: readonly number[]): Promise<void> {
  const servers = urls.map((url) => new Redis(url, { maxRetriesPerRequest: 1 }));
  try {
    const [first] = servers;
    if (!first) return;
    if (!(await hasState(first, 'cluster_known_nodes', urls.length))) await join(servers, urls, buses);
    const isFormed = async () => {
      const states = await Promise.all(servers.map((server) => hasState(server, 'cluster_state', 'ok')));
      return states.every(Boolean);
    };
    if (!(await poll(isFormed, { timeoutMs: 60_000, everyMs: 200 }))) {
      throw new FleetError('The servers of Redis form no cluster. See their logs, or remove their data: ./fleet reset');
    }
  } finally {
    for (const server of servers) server.disconnect();
  }
}

async function join(servers: readonly Redis[], urls: readonly string[], buses: readonly number[]): Promise<void> {
  const [first, ...others] = servers;
  const shards = servers.length / 2;
  for (const [index] of others.entries()) {
    const { hostname, port } = new URL(urls[index + 1] ?? '');
    await first?.call('CLUSTER', 'MEET', hostname, port, String(buses[index + 1]));
  }
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

async function hasState(server: Redis, name: string, value: string | number): Promise<boolean> {
  const info = String(await server.cluster('INFO'));
  return info.split('\r\n').includes(`${name}:${value}`);
}
