import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Where the stores are: what `node tools/stores.mjs throwaway --json` prints. */
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
 * The stores of this run: those of the environment (`./fleet test` starts one set for all spec files), else private
 * throw-away ones, which end with this process whatever becomes of it, since they watch the pipe to it.
 */
export async function findStores(env: NodeJS.ProcessEnv = process.env): Promise<FoundStores> {
  const given = fromEnvironment(env);
  return given === null ? startThrowaway() : { addresses: given, stop: () => Promise.resolve() };
}

/** @returns null unless all three variables are set: half of a set would hide a mistake in it */
export function fromEnvironment(env: NodeJS.ProcessEnv): StoreAddresses | null {
  const { TEST_POSTGRES_URL: postgresUrl, TEST_REDIS_BIN: redisBin, TEST_NATS_BIN: natsBin } = env;
  if (!postgresUrl || !redisBin || !natsBin) return null;
  return { postgresUrl, redisBin, natsBin, redisEnv: json(env['TEST_REDIS_ENV']), natsEnv: json(env['TEST_NATS_ENV']) };
}

function json(text: string | undefined): Record<string, string> {
  return text ? (JSON.parse(text) as Record<string, string>) : {};
}

async function startThrowaway(): Promise<FoundStores> {
  const child = spawn(process.execPath, [path.join(workspaceRoot(), 'tools/stores.mjs'), 'throwaway', '--json'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const line = await Promise.race([firstLine(child.stdout), ended.then(() => null)]);
  if (line === null) throw new Error(`tools/stores.mjs could not start the stores:\n${said.join('')}`);
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

/** The folder of nx.json, above this file. */
export function workspaceRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(path.join(folder, 'nx.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`No workspace above ${import.meta.dirname}`);
    folder = parent;
  }
  return folder;
}

/** Linux: has the server killed with the process that started it, even when that one is killed itself. */
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
