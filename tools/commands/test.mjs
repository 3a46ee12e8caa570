import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { bold, dim, green, red, say, step } from '../fleet/reporter.mjs';
import { ROOT } from '../paths.mjs';
import { installDependencies } from '../prepare/install.mjs';
import { endForeground, onEnd } from '../processes/foreground.mjs';
import { temporaryDir } from '../stores/temporary-dir.mjs';
import { startThrowawayStores, storeVariables } from '../stores/throwaway.mjs';
import { format, launcher, lint, types } from '../test/commands.mjs';
import { e2e } from '../test/e2e.mjs';
import { runJest } from '../test/jest.mjs';
import { setup } from '../test/setup.mjs';

/** The parts in the order they run: what fails fast comes first. */
const PARTS = { format, types, lint, unit, setup, launcher, e2e };

/** `fleet test [part | project ...] [-- jest arguments]`: exit code 0 only when everything passed. */
export default async function test(args) {
  const { parts, projects, jestArgs } = chosen(args);
  await installDependencies(step, { everything: true });
  const dir = temporaryDir('test');
  const context = { dir, projects, jestArgs, stores: null, env: {} };
  const clean = async () => {
    endForeground();
    await context.stores?.stop();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  onEnd(clean);

  const results = [];
  try {
    for (const name of parts) results.push(await runPart(name, context));
  } finally {
    await clean();
  }
  return summarize(results);
}

function chosen(args) {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const [names, jestArgs] = [args.slice(0, end), args.slice(end + 1)];
  const known = ['apps', 'libs'].flatMap((group) => fs.readdirSync(path.join(ROOT, group)));
  const unknown = names.find((name) => !PARTS[name] && !known.includes(name));
  if (unknown)
    throw new Failure(
      `There is no part "${unknown}". Parts: ${Object.keys(PARTS).join(', ')}, or the name of an app or lib.`,
    );
  const projects = names.filter((name) => !PARTS[name] && name !== 'fleet-e2e');
  const parts = new Set(names.filter((name) => PARTS[name]));
  if (projects.length) parts.add('unit');
  if (names.includes('fleet-e2e')) parts.add('e2e');
  const inOrder = Object.keys(PARTS).filter((name) => names.length === 0 || parts.has(name));
  return { parts: inOrder, projects, jestArgs };
}

/** One PostgreSQL for all spec files of the run. */
async function unit(context) {
  context.stores = await startThrowawayStores(say);
  const selected = context.projects.length ? ['--selectProjects', ...context.projects] : [];
  const env = storeVariables(context.stores.urls);
  try {
    return await runJest([...context.jestArgs, ...selected], { dir: context.dir, name: 'unit', env });
  } finally {
    await context.stores.stop();
    context.stores = null;
  }
}

async function runPart(name, context) {
  console.log(`\n${bold(`── ${name}`)}`);
  const from = performance.now();
  const result = await PARTS[name](context).catch((error) => {
    console.error(error instanceof Failure ? error.message : error);
    return { ok: false, passed: 0, failed: 1 };
  });
  return { name, seconds: (performance.now() - from) / 1000, ...result };
}

function summarize(results) {
  console.log(`\n${bold('── summary')}`);
  for (const { name, ok, passed, failed, seconds } of results) {
    const light = ok ? green('✓') : red('✗');
    const counts = failed ? `${passed} passed, ${red(`${failed} failed`)}` : `${passed} passed`;
    console.log(`  ${light} ${name.padEnd(10)} ${dim(`${seconds.toFixed(1)} s`.padStart(8))}  ${counts}`);
  }
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0);
  console.log(`\n${total('passed')} passed, ${total('failed')} failed`);
  return results.every(({ ok }) => ok) ? 0 : 1;
}
