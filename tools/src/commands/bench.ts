import path from 'node:path';
import { ROOT } from '../paths.js';
import { build, onSignal } from '../processes/run.js';
import { createTemporaryGroup, startThrowawayStores } from '../stores/stores.js';
import { BENCHMARKS } from './choices.js';

const PROJECTS = ['tsconfig.build.json', 'libs/testing/tsconfig.lib.json', 'libs/testing-services/tsconfig.lib.json'];

/** Runs `bench/benchmarks/<name>.mjs` with throw-away stores. Standard output belongs to the benchmark. */
export async function bench(name: string, options: Record<string, string | number | true>): Promise<number> {
  const temporary = createTemporaryGroup();
  onSignal(() => temporary.group.release());
  try {
    await build(PROJECTS, console.error);
    const env = { TEST_STORES: await startThrowawayStores(temporary, console.error) };
    const flags = Object.entries(options).map(([key, value]) => (value === true ? `--${key}` : `--${key}=${value}`));
    const args = [path.join(BENCHMARKS, `${name}.mjs`), ...flags];
    return await temporary.group.run(process.execPath, args, { cwd: ROOT, env });
  } finally {
    await temporary.group.release();
  }
}

/** Starts stores for a spec that runs without `./fleet test`, and ends when its standard input or a signal ends it. */
export async function stores(): Promise<void> {
  const temporary = createTemporaryGroup();
  onSignal(() => temporary.group.release());
  process.stdin.resume().once('close', () => process.kill(process.pid, 'SIGTERM'));
  console.log(await startThrowawayStores(temporary, console.error));
}
