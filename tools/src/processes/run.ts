import { execa, type Options } from 'execa';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../console.js';
import { ROOT } from '../paths.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const stopping = new AbortController();
const running = new Set<Promise<unknown>>();

/** Runs a command to its end, with both outputs in `all`. Rejects when it fails; it ends with this process. */
export async function run(
  command: string,
  args: readonly string[],
  options: Pick<Options, 'cwd' | 'env' | 'timeout' | 'reject'> = {},
): Promise<{ failed: boolean; stdout: string }> {
  const ended = execa(command, args, { ...options, stdin: 'ignore', all: true, cancelSignal: stopping.signal });
  running.add(ended);
  return ended.finally(() => running.delete(ended));
}

/** Ends the commands that still run, and prevents others from starting. Resolves when none is left. */
export async function abortCommands(): Promise<void> {
  stopping.abort();
  await Promise.allSettled(running);
}

/** Runs `clean` once when a signal arrives, and then ends this process with the exit code of the signal. */
export function onSignal(clean: () => Promise<void>): void {
  let ending: Promise<unknown> | null = null;
  const end = (code: number) => {
    ending ??= Promise.all([abortCommands(), clean()])
      .catch((error: unknown) => console.error(error))
      .finally(() => process.exit(code));
  };
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => end(code));
  // npm and a test run that are killed cannot pass a signal on.
  if (!process.env['npm_lifecycle_event'] && !process.env['FLEET_ENDS_WITH_PARENT']) return;
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && end(SIGNALS.SIGTERM), 500).unref();
}

export async function build(projects: readonly string[] = ['tsconfig.build.json'], print = say): Promise<void> {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  print('building: tsc -b');
  await run(process.execPath, [compiler, '-b', ...projects], { cwd: ROOT });
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
export async function settleAll<T extends readonly Promise<unknown>[]>(...promises: T) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
