import getPort from 'get-port';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../console.js';
import { ensureDir, RESTORE } from '../paths.js';
import type { ProcessSpec } from '../processes/process-group.js';
import { SupervisedProcess, type Supervision } from '../processes/supervised-process.js';
import type { ServerKind } from './programs.js';

export interface Store {
  url: string;
  isPrivate: boolean;
  /** Addresses of the other servers of a cluster: `127.0.0.1:4222`. */
  otherHosts?: readonly string[];
  /** The standby of PostgreSQL, as the administrator who may promote it. */
  standbyUrl?: string;
}

export interface StoreContext extends Supervision {
  dir: string;
  /** Ports of the previous run, so that addresses stay the same. */
  ports: Partial<Record<string, number>>;
  /** Throw-away stores write nothing to disk durably. */
  isThrowaway: boolean;
}

/** Returns the major version of the PostgreSQL data in a folder, 0 when there is none. */
export const majorOfData = (dir: string): number =>
  Math.max(0, ...fs.readdirSync(dir).map((name) => Number(/^pg(\d+)$/.exec(name)?.[1] ?? 0)));

/** Returns the password of the private stores, created before their data. @throws FleetError when it is lost or damaged */
export function storePassword(dir: string): string {
  const file = path.join(ensureDir(dir), 'store-secret');
  const kept = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  if (/^[\w-]+$/.test(kept)) return kept;
  if (majorOfData(dir)) throw new FleetError(`${file} is missing or damaged, but ${dir} has a database. ${RESTORE}`);
  const created = randomBytes(18).toString('base64url');
  fs.writeFileSync(file, created, { mode: 0o600 });
  return created;
}

/** Returns the kinds of the servers of a cluster: `nats`, `nats-2`, `nats-3`. */
export const clusterKinds = (kind: ServerKind, size: number): ServerKind[] =>
  Array.from({ length: size }, (_, index) => ({
    ...kind,
    name: index === 0 ? kind.name : `${kind.name}-${index + 1}`,
    title: `${kind.title} ${index + 1} of ${size}`,
  }));

/** Returns the ports through which the servers of a cluster talk to each other: those of the previous run, or free ones. */
export async function clusterPorts({ ports }: StoreContext, kinds: readonly ServerKind[]): Promise<number[]> {
  const found: number[] = [];
  for (const { name } of kinds) {
    const key = `${name}-cluster`;
    found.push((ports[key] = await getPort({ host: '127.0.0.1', port: ports[key] ?? 0 })));
  }
  return found;
}

/**
 * Starts a private server on the port of the previous run or a free one. Tries again when it ends during its start:
 * another process took the port, or backends of a killed PostgreSQL are still ending.
 */
export async function startServer(
  context: StoreContext,
  { name, title, check }: ServerKind,
  from: string,
  server: { describe: (port: number) => Omit<ProcessSpec, 'name'>; urlOf: (port: number) => string },
): Promise<Store> {
  const logFile = path.join(ensureDir(path.join(context.dir, 'log'), 0o700), `${name}.log`);
  for (let attempt = 1; ; attempt++) {
    const port = await getPort({ host: '127.0.0.1', port: attempt === 1 ? (context.ports[name] ?? 0) : 0 });
    const url = server.urlOf(port);
    let version = '';
    const describe = () => ({ ...server.describe(port), name: `store:${name}`, logFile });
    const process = new SupervisedProcess(name, context, describe, async () => (version = await check(url)));
    try {
      await process.start();
      context.ports[name] = port;
      context.say(`${title} ${version} (private, ${from})`);
      return { url, isPrivate: true };
    } catch (error) {
      await process.stop();
      if (attempt === 5 || context.group.isReleased) throw error;
      await sleep(300);
    }
  }
}
