import { execa } from 'execa';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say, step } from '../console.js';
import { ROOT } from '../paths.js';

const stopping = new AbortController();
const running = new Set<Promise<unknown>>();

interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** false: without the variables of this process. */
  extendEnv?: boolean;
  /** In milliseconds. */
  timeout?: number;
  /** false: resolves also when the command fails. */
  reject?: boolean;
}

/** Runs a command to its end, with both outputs in `all`. Rejects when it fails; it ends with this process. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<{ failed: boolean; exitCode?: number; stdout: string; all: string }> {
  const ended = execa(command, args, { ...options, stdin: 'ignore', all: true, cancelSignal: stopping.signal });
  running.add(ended);
  try {
    return await ended;
  } finally {
    running.delete(ended);
  }
}

/** Ends the commands that still run, and prevents others from starting. Resolves when none is left. */
export async function abortCommands(): Promise<void> {
  stopping.abort();
  await Promise.allSettled(running);
}

/** Compiles the services and their libs, or other projects, where a source changed. */
export async function build(projects: readonly string[] = ['tsconfig.build.json'], print = say): Promise<void> {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  await step('build: tsc -b', run(process.execPath, [compiler, '-b', ...projects], { cwd: ROOT }), print);
}

/** Calls `attempt` until it returns a truthy value. @returns that value, or null after `timeoutMs` */
export async function poll<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs, everyMs = 20 }: { timeoutMs: number; everyMs?: number },
): Promise<T | null> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(everyMs)) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() >= deadline) return null;
  }
}

/** Waits for all promises before it rejects with the first error, so that nothing starts during the clean-up. */
export async function settleAll<T extends readonly Promise<unknown>[]>(
  ...promises: T
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
