import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { FleetError } from '../errors.js';
import { type FleetSummary, getRunningFleet } from '../fleet/state.js';
import { FLEET_DIR, readJson, ROOT, writeAtomically } from '../paths.js';
import { build } from '../processes/run.js';

const RESULT_FILE = path.join(FLEET_DIR, 'seed.json');

/** Fills the running fleet with the demo of libs/testing. A second call prints the logins again. */
export async function seed(): Promise<void> {
  const { summary } = getRunningFleet();
  const previous = readJson<{ lines: string[] }>(RESULT_FILE);
  if (previous && !previous.lines.length) {
    throw new FleetError('An earlier seed was interrupted. Start again with: ./fleet down, reset, up, seed');
  }
  if (!previous) {
    await build(['libs/testing/tsconfig.lib.json']);
    writeAtomically(RESULT_FILE, JSON.stringify({ lines: [] }));
    const script = pathToFileURL(path.join(ROOT, 'libs/testing/dist/seed-demo.js')).href;
    const { seedDemo } = (await import(script)) as { seedDemo(fleet: FleetSummary): Promise<string[]> };
    writeAtomically(RESULT_FILE, JSON.stringify({ lines: await seedDemo(summary) }));
  }
  console.log(readJson<{ lines: string[] }>(RESULT_FILE)?.lines.join('\n'));
}
