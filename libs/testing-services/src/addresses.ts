import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** The addresses and programs of the stores, as `./fleet stores` prints them. */
export interface StoreAddresses {
  /** A login that may create roles and databases. */
  postgresUrl: string;
  natsBin: string;
  natsEnv: Record<string, string>;
  redisBin: string;
  redisEnv: Record<string, string>;
}

export interface FoundStores {
  addresses: StoreAddresses;
  stop(): Promise<void>;
}

/**
 * Returns the stores of the environment (`./fleet test` starts one set for all spec files), else starts throw-away ones.
 * These end with this process, even when it is killed: they watch the pipe to it.
 */
export async function findStores(env: NodeJS.ProcessEnv = process.env): Promise<FoundStores> {
  const given = fromEnvironment(env);
  return given === null ? startThrowaway() : { addresses: given, stop: () => Promise.resolve() };
}

/** Reads the variable TEST_STORES. @returns null when it is not set */
export function fromEnvironment({ TEST_STORES: addresses }: NodeJS.ProcessEnv): StoreAddresses | null {
  return addresses ? (JSON.parse(addresses) as StoreAddresses) : null;
}

async function startThrowaway(): Promise<FoundStores> {
  const child = spawn(process.execPath, [path.join(workspaceRoot(), 'tools/fleet.mjs'), 'stores'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const line = await Promise.race([firstLine(child.stdout), ended.then(() => null)]);
  if (line === null) throw new Error(`./fleet stores did not start the stores:\n${errors}`);
  const stop = async () => {
    child.stdin.end();
    await ended;
  };
  return { addresses: JSON.parse(line) as StoreAddresses, stop };
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string | null> {
  const lines = createInterface({ input: stream });
  for await (const line of lines) return line;
  return null;
}

/** Returns the folder of nx.json, above this file. */
export function workspaceRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(path.join(folder, 'nx.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`No workspace above ${import.meta.dirname}`);
    folder = parent;
  }
  return folder;
}

/** Returns a command that, on Linux, is killed together with the process that starts it. */
export function diesWithParent(command: string, args: readonly string[]): [string, string[]] {
  return hasSetpriv() ? ['setpriv', ['--pdeathsig', 'KILL', '--', command, ...args]] : [command, [...args]];
}

let setpriv: boolean | undefined;

function hasSetpriv(): boolean {
  if (setpriv === undefined) {
    try {
      execFileSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true'], { stdio: 'ignore' });
      setpriv = true;
    } catch {
      setpriv = false;
    }
  }
  return setpriv;
}
