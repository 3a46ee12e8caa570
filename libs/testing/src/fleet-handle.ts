import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

/** A running fleet, as reported by `./fleet status --json`. */
export interface FleetHandle {
  baseUrl: string;
  mailboxUrl: string;
  databaseUrl: string;
  redisUrl: string;
  natsUrl: string;
  /** The console of PgBouncer, with `./fleet up --pooler`. */
  poolerUrl?: string;
  /** The standby of PostgreSQL, with `./fleet up --postgres-standby`. */
  standbyUrl?: string;
  /** The folder of the log files, relative to the checkout. */
  logs: string;
  admin: { email: string; password: string };
  /** PostgreSQL, Redis and NATS where they are the fleet's own: a process that ended is started again at the same address. */
  stores: {
    name: 'postgres' | 'postgres-2' | 'redis' | 'redis-2' | 'redis-3' | 'nats' | 'nats-2' | 'nats-3' | 'pgbouncer';
    pid: number;
  }[];
  services: { name: string; state: string; pid: number; port: number; instances: { pid: number; port: number }[] }[];
}

/**
 * Reads the fleet under test. `./fleet test e2e` starts one and sets the path of its status file.
 * @throws Error when FLEET_STATUS is not set: a behavior spec never guesses which fleet it may disturb
 */
export function connectToFleet(): FleetHandle {
  const file = process.env['FLEET_STATUS'];
  if (!file) throw new Error('FLEET_STATUS is not set: run these specs with "./fleet test e2e"');
  return JSON.parse(readFileSync(file, 'utf8')) as FleetHandle;
}

/**
 * Reads the current status of the fleet, after processes ended and were replaced. For specs that kill processes; they
 * run in the checkout, with FLEET_DATA_DIR of their fleet in the environment.
 */
export async function readFleetStatus(env: NodeJS.ProcessEnv = process.env): Promise<FleetHandle> {
  const status = [resolve('tools/fleet.mjs'), 'status', '--json'];
  // exit code 3 means that a process is not ready; the report is complete
  const { stdout } = await promisify(execFile)(process.execPath, status, { env }).catch(
    (error: { stdout: string }) => error,
  );
  return JSON.parse(stdout) as FleetHandle;
}
