import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { step } from '../fleet/reporter.mjs';
import { ROOT } from '../paths.mjs';
import { buildServices } from '../prepare/build.mjs';
import { installDependencies } from '../prepare/install.mjs';
import { endForeground, onEnd, runInForeground } from '../processes/foreground.mjs';
import { startThrowawayStores, storeVariables } from '../stores/throwaway.mjs';

const BENCHES = path.join(ROOT, 'tools/bench');

/** `fleet bench <name> [--json]`: runs `tools/bench/<name>.mjs` with private throw-away stores. */
export default async function bench([name, ...args]) {
  const script = path.join(BENCHES, `${name}.mjs`);
  if (!name || !fs.existsSync(script)) throw new Failure(`Which benchmark? ${names().join(', ')}`);
  await quietly(async () => {
    await installDependencies(step, { everything: true });
    await buildServices(step);
  });
  const stores = await startThrowawayStores((line) => console.error(line));
  onEnd(async () => {
    endForeground();
    await stores.stop();
  });
  try {
    return await runInForeground(process.execPath, [script, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...storeVariables(stores.urls) },
    });
  } finally {
    await stores.stop();
  }
}

function names() {
  const files = fs.existsSync(BENCHES) ? fs.readdirSync(BENCHES) : [];
  return files.filter((file) => file.endsWith('.mjs')).map((file) => file.slice(0, -'.mjs'.length));
}

/** Standard output belongs to the benchmark: with --json it is one document. */
async function quietly(work) {
  const { log } = console;
  console.log = console.error;
  await work().finally(() => (console.log = log));
}
