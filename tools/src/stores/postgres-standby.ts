import getPort from 'get-port';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type Socket } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { ignore } from '../console.js';
import { run } from '../processes/run.js';
import { isStandby, openCluster, POSTGRES, standbyOf, startPostgresServer } from './postgres.js';
import { type Store, type StoreContext, storePassword } from './store.js';

const PRIMARY = { ...POSTGRES, title: 'PostgreSQL primary' };
const STANDBY = { ...POSTGRES, name: 'postgres-2', title: 'PostgreSQL standby' };
/** A commit returns when it is on the disk of the standby, which finds the WAL it has missed after a restart. */
const PRIMARY_SETTINGS = ['synchronous_standby_names=*', 'wal_keep_size=1GB'];
const SWITCH_CHECK_MS = 50;

/**
 * Starts a primary, its streaming standby (`postgres-2`) and an address that leads to the primary. `pg_promote()` at the
 * standby moves the address, as a virtual address or an operator does in production.
 */
export async function startPostgresWithStandby(context: StoreContext): Promise<Store> {
  const cluster = await openCluster(context);
  const home = standbyOf(cluster.home);
  await copyCluster(cluster.home, home);
  const primary = await startPostgresServer(context, PRIMARY, cluster, PRIMARY_SETTINGS);
  const source = `primary_conninfo=host=127.0.0.1 port=${portOf(primary)} user=fleet`;
  const login = { PGPASSWORD: storePassword(context.dir) };
  const standby = await startPostgresServer(context, STANDBY, { ...cluster, home }, [source], login);
  const port = await startAddress(context, () => portOf(isStandby(home) ? primary : standby));
  return { ...primary, url: String(Object.assign(new URL(primary.url), { port })), standbyUrl: standby.url };
}

const portOf = ({ url }: Store): number => Number(new URL(url).port);

/** Copies the data folder of a server that does not run. `pg_basebackup` is not among the programs from npm. */
async function copyCluster(home: string, target: string): Promise<void> {
  const temporary = `${target}.new`;
  for (const folder of [temporary, target]) fs.rmSync(folder, { recursive: true, force: true });
  await run('cp', ['-Rp', home, temporary]);
  fs.writeFileSync(path.join(temporary, 'standby.signal'), '');
  fs.renameSync(temporary, target);
}

/** Forwards connections to the primary, and ends those to another server as soon as it is no longer the primary. */
async function startAddress({ ports }: StoreContext, primaryPort: () => number): Promise<number> {
  const open = new Map<Socket, number>();
  const server = net.createServer({ noDelay: true }, (client) => {
    const to = primaryPort();
    open.set(client, to);
    client.on('close', () => open.delete(client));
    pipeline(client, net.connect({ port: to, host: '127.0.0.1', noDelay: true }), client, ignore);
  });
  const endOthers = () => open.forEach((to, client) => to !== primaryPort() && client.destroy());
  setInterval(endOthers, SWITCH_CHECK_MS).unref();
  const name = 'postgres-address';
  const port = (ports[name] = await getPort({ host: '127.0.0.1', port: ports[name] ?? 0 }));
  await once(server.listen(port, '127.0.0.1'), 'listening');
  server.unref();
  return port;
}
