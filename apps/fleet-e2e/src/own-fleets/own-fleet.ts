import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { eventually, readFleetStatus, type FleetHandle } from '@rmm/testing';
import { signalStore, type Store } from '../outages/killing.js';

const TOOLS_DIR = process.env['FLEET_TOOLS_DIR'] ?? resolve('.data/tools');

/**
 * Finds a program that some specs need and not every machine has.
 * @param variable  the environment variable that may name its path @param unpacked  its path below the folder of fetched programs
 * @returns its path; undefined where it is not installed
 */
export function findProgram(name: string, variable: string, unpacked: string): string | undefined {
  const folders = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(delimiter)];
  const named = process.env[variable] ?? '';
  const candidates = [named, join(TOOLS_DIR, unpacked), ...folders.map((folder) => join(folder, name))];
  return candidates.find((file) => file !== '' && existsSync(file));
}

/** A fleet of one spec file with private stores, for a shape that the common fleets do not have. */
export class OwnFleet {
  private constructor(
    readonly handle: FleetHandle,
    private readonly launcher: ChildProcess,
    private readonly env: NodeJS.ProcessEnv,
    readonly dir: string,
  ) {}

  /** @param options  of `./fleet up` @param variables  of the services */
  static async start(options: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<OwnFleet> {
    const dir = await mkdtemp(join(tmpdir(), 'rmm-fleet-'));
    const own = { FLEET_DATA_DIR: dir, FLEET_TOOLS_DIR: TOOLS_DIR, FLEET_PORT: '18080', FLEET_ENDS_WITH_PARENT: '1' };
    const shared = { DATABASE_URL: '', REDIS_URL: '', NATS_URL: '', RATE_LIMITS_ENABLED: 'false' };
    const env = { ...process.env, ...own, ...shared, ...variables, NODE_ENV: 'development' };
    const args = [resolve('tools/fleet.mjs'), 'up', '--local-receivers', ...options];
    const output = join(dir, 'launcher.log');
    const log = await open(output, 'a');
    const launcher = spawn(process.execPath, args, { env, stdio: ['ignore', log.fd, log.fd] });
    await log.close();
    const isReady = async () => {
      if (launcher.exitCode !== null) return null;
      const handle = (await readFleetStatus(env)) as FleetHandle & { state: string };
      if (handle.state !== 'ready') throw new Error(`the fleet is ${handle.state}`);
      return handle;
    };
    try {
      const handle = await eventually(isReady, { timeoutMs: 400_000, everyMs: 1_500 });
      if (handle) return new OwnFleet(handle, launcher, env, dir);
      const printed = await readFile(output, 'utf8');
      throw new Error(`./fleet up ${options.join(' ')} has ended with ${launcher.exitCode}:\n${printed.slice(-4_000)}`);
    } catch (error) {
      await stop(launcher, dir);
      throw error;
    }
  }

  /** Sends a signal to a store of this fleet. */
  signalStore(name: Store, signal: NodeJS.Signals): Promise<void> {
    return signalStore(name, signal, this.env);
  }

  /** Reads what runs now. */
  async status(): Promise<FleetHandle & { state: string }> {
    return (await readFleetStatus(this.env)) as FleetHandle & { state: string };
  }

  stop(): Promise<void> {
    return stop(this.launcher, this.dir);
  }
}

async function stop(launcher: ChildProcess, dir: string): Promise<void> {
  if (launcher.exitCode === null) {
    const ended = once(launcher, 'exit');
    launcher.kill('SIGTERM');
    await ended;
  }
  await rm(dir, { recursive: true, force: true });
}
