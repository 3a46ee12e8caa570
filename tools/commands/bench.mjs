import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { step } from '../fleet/reporter.mjs';
import { ROOT } from '../paths.mjs';
import { buildServices } from '../prepare/build.mjs';
import { installDependencies } from '../prepare/install.mjs';
import { endForeground, onEnd, runInForeground } from '../processes/foreground.mjs';
import { startThrowawayStores, storeVariables } from '../stores/throwaway.mjs';
import { readOptions } from './options.mjs';

const BENCHES = path.join(ROOT, 'tools/bench');

/** `fleet bench <name> [--json] [--quick]`: runs `tools/bench/<name>.mjs` with private throw-away stores. */
export default async function bench([name, ...args]) {
  if (!names().includes(name)) throw new Failure(`Which benchmark? ${names().join(', ')}`);
  readOptions(args, { json: { type: 'boolean' }, ...(hasShortForm(name) && { quick: { type: 'boolean' } }) });
  const script = path.join(BENCHES, `${name}.mjs`);
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

/** A benchmark says so in its first line; the other files of the folder are its parts. */
function names() {
  const files = fs.readdirSync(BENCHES).filter((file) => file.endsWith('.mjs'));
  const candidates = files.map((file) => file.slice(0, -'.mjs'.length)).sort();
  return candidates.filter((name) =>
    fs.readFileSync(path.join(BENCHES, `${name}.mjs`), 'utf8').startsWith(`// ./fleet bench ${name}:`),
  );
}

/** A benchmark that reads `--quick` may be asked for it. */
const hasShortForm = (name) => fs.readFileSync(path.join(BENCHES, `${name}.mjs`), 'utf8').includes("'--quick'");

/** Standard output belongs to the benchmark: with --json it is one document. */
async function quietly(work) {
  const { log } = console;
  console.log = console.error;
  await work().finally(() => (console.log = log));
}
