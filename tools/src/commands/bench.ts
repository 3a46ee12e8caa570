import fs from 'node:fs';
import path from 'node:path';
import { FleetError } from '../errors.js';
import { onSignal } from '../fleet/shutdown.js';
import { ROOT } from '../paths.js';
import { ProcessGroup } from '../processes/process-group.js';
import { build } from '../processes/run.js';
import { startThrowawayStores } from '../stores/throwaway.js';

const BENCHMARKS = path.join(ROOT, 'bench/benchmarks');
const PROJECTS = ['tsconfig.build.json', 'libs/testing/tsconfig.lib.json', 'libs/testing-services/tsconfig.lib.json'];

export const benchmarkNames = (): string[] =>
  fs
    .readdirSync(BENCHMARKS)
    .map((file) => path.basename(file, '.mjs'))
    .sort();

/** Runs `bench/benchmarks/<name>.mjs` with throw-away stores. Standard output belongs to the benchmark. */
export async function bench(name: string, { json, quick }: { json?: boolean; quick?: boolean }): Promise<number> {
  if (!benchmarkNames().includes(name)) {
    throw new FleetError(`There is no benchmark "${name}". Benchmarks: ${benchmarkNames().join(', ')}`);
  }
  const group = new ProcessGroup();
  let stopStores = () => Promise.resolve();
  const stop = async () => {
    await group.release();
    await stopStores();
  };
  onSignal(stop);
  try {
    await build(PROJECTS, console.error);
    const stores = await startThrowawayStores(console.error);
    stopStores = stores.stop;
    const args = [path.join(BENCHMARKS, `${name}.mjs`), ...(json ? ['--json'] : []), ...(quick ? ['--quick'] : [])];
    return await group.run(process.execPath, args, { cwd: ROOT, env: stores.variables });
  } finally {
    await stop();
  }
}
