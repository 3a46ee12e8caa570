import fs from 'node:fs';
import path from 'node:path';
import { bold, dim, FleetError, green, red, say } from '../console.js';
import { readJson, ROOT, TOOLS_DIR } from '../paths.js';
import { tailOf } from '../processes/process-group.js';
import { build, onSignal, poll, run } from '../processes/run.js';
import { createTemporaryGroup, startThrowawayStores, type TemporaryGroup } from '../stores/stores.js';

interface TestContext extends TemporaryGroup {
  projects: readonly string[];
  jestArgs: readonly string[];
}

const EVERY_SERVICE_TWICE = 'identity=2,credentials=2,partner-gateway=2,provisioning=2,webhook-dispatcher=2';

type PartResult = { passed: number; failed: number };
type Part = (context: TestContext) => Promise<PartResult>;

/** Returns a part that runs installed tools one after the other and counts as one test. */
function toolPart(...commands: readonly (readonly [name: string, ...args: string[]])[]): Part {
  return async ({ group }) => {
    for (const [name, ...args] of commands) {
      const options = { cwd: ROOT, env: { NX_DAEMON: 'false' }, quiet: name === 'nx' };
      const exitCode = await group.run(path.join(ROOT, 'node_modules/.bin', name), args, options);
      if (exitCode !== 0) return { passed: 0, failed: 1 };
    }
    return { passed: 1, failed: 0 };
  };
}

const format = toolPart(['prettier', '--check', '--cache', '--cache-strategy=content', '--log-level=warn', '.']);
const types = toolPart(['tsc', '-b']);

/** The cache compares contents, since a fresh checkout has new times. */
const CSPELL_CACHE = ['--cache', '--cache-strategy=content', '--cache-location=node_modules/.cache/cspell'];

/**
 * Lints everything in one process, in a third of the time of `nx run-many -t lint`, and checks the words. The module
 * boundary rule reads the project graph that nx stores, so nx updates it first.
 * @see docs/CONTRIBUTING.md#words
 */
const lint = toolPart(
  ['nx', 'show', 'projects'],
  ['eslint', 'apps', 'libs', 'tools', 'bench', '*.mjs'],
  ['cspell', 'lint', '--no-progress', '--no-summary', '--gitignore', ...CSPELL_CACHE, '.'],
);

/** Runs the specs of the apps and libs; all spec files share one PostgreSQL server. */
const unit: Part = async (context) => {
  const selected = context.projects.length ? ['--selectProjects', ...context.projects] : [];
  const env = { TEST_STORES: await startThrowawayStores(context, say) };
  return runJest(context, 'unit', [...context.jestArgs, ...selected], env);
};

/** Each spec file leaves 200 MB of modules as garbage, which Node collects late on a machine with much memory. */
const WORKER_HEAP_MB = 1_024;

const WORKERS = '--maxWorkers=';

/** Returns the options with one number of workers, the last one given: of an option that is given twice Jest reads the first. */
export function withWorkers(args: readonly string[]): string[] {
  const last = args.findLast((arg) => arg.startsWith(WORKERS)) ?? `${WORKERS}2`;
  return [...args.filter((arg) => !arg.startsWith(WORKERS)), last];
}

/** Runs Jest and reads its counts; a run that breaks down counts as one failure. */
async function runJest(
  { dir, group }: TestContext,
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<PartResult> {
  const report = path.join(dir, `${name}.json`);
  const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
  const all = [
    `--max-old-space-size=${WORKER_HEAP_MB}`,
    jest,
    ...withWorkers(args),
    '--json',
    `--outputFile=${report}`,
  ];
  const exitCode = await group.run(process.execPath, all, {
    cwd: ROOT,
    env: { ...env, NODE_ENV: 'test' },
    quiet: true,
  });
  const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = readJson<Record<string, number>>(report) ?? {};
  return { passed, failed: failed || Number(exitCode !== 0) };
}

/** Runs the checks below `tools` with Node's test runner: launcher, edge, built services, lint rules, compose file. */
const launcher: Part = async ({ dir, group }) => {
  await build();
  const files = fs.readdirSync(path.join(ROOT, 'tools'), { recursive: true, encoding: 'utf8' });
  const checks = files.filter((name) => name.endsWith('.test.mjs')).map((name) => path.join('tools', name));
  const report = path.join(dir, 'launcher.tap');
  const reporters = ['spec', 'tap'].map((reporter) => `--test-reporter=${reporter}`);
  const destinations = ['stdout', report].map((file) => `--test-reporter-destination=${file}`);
  const args = ['--test', '--test-concurrency=2', ...reporters, ...destinations, ...checks];
  const exitCode = await group.run(process.execPath, args, { cwd: ROOT });
  const [, passed = 0, failed = 0] = /^# pass (\d+)\n# fail (\d+)/m.exec(fs.readFileSync(report, 'utf8')) ?? [];
  return { passed: Number(passed), failed: Number(failed) || Number(exitCode !== 0) };
};

const LAUNCHER = path.join(ROOT, 'tools/fleet.mjs');
const OUTAGES = '/src/outages/';
const FUZZ = '/src/fuzz/';

/** Returns the Jest option that runs the specs of one folder only. */
const only = (folder: string): string[] => ['--testPathIgnorePatterns', `^(?!.*${folder})`, '--maxWorkers=1'];

/** Runs the end-to-end specs against a fleet of their own; those that stop its processes run last, one by one. */
const e2e: Part = async (context) => {
  const env = await startFleet(context, 'fleet', ['--replicas', EVERY_SERVICE_TWICE]);
  const config = ['-c', 'apps/fleet-e2e/jest.config.mjs', '--passWithNoTests', ...context.jestArgs];
  const first = await runJest(context, 'e2e', [...config, '--testPathIgnorePatterns', `${OUTAGES}|${FUZZ}`], env);
  const last = await runJest(context, 'outages', [...config, ...only(OUTAGES)], env);
  return { passed: first.passed + last.passed, failed: first.failed + last.failed };
};

/** Sends mutated requests to a fleet of its own: rate limits would refuse most of them before a handler reads them. */
const fuzz: Part = async (context) => {
  const env = await startFleet(context, 'fuzz', [], { RATE_LIMITS_ENABLED: 'false' });
  const args = ['-c', 'apps/fleet-e2e/jest.config.mjs', ...context.jestArgs, ...only(FUZZ)];
  return runJest(context, 'fuzz-report', args, env);
};

/** Starts a fleet that ends with the group. @returns the variables of its specs */
async function startFleet(
  { dir, group }: TestContext,
  name: string,
  options: readonly string[],
  configuration: Record<string, string> = {},
): Promise<NodeJS.ProcessEnv> {
  const own = { FLEET_DATA_DIR: path.join(dir, name), FLEET_TOOLS_DIR: TOOLS_DIR, FLEET_PORT: '18080' };
  const privateStores = { DATABASE_URL: '', REDIS_URL: '', NATS_URL: '' };
  const shortWaits = { DEVICE_OFFLINE_AFTER_SECONDS: '60' }; // the shortest that is allowed
  const env = { ...own, ...privateStores, ...shortWaits, FLEET_STATUS: path.join(dir, `${name}-status.json`) };
  const logFile = path.join(dir, `${name}.log`);
  const args = [LAUNCHER, 'up', '--local-receivers', ...options];
  const upEnv = { ...process.env, ...env, ...configuration, FLEET_ENDS_WITH_PARENT: '1' };
  const fleet = group.start({ name, command: process.execPath, args, cwd: ROOT, env: upEnv, logFile });
  const isSettled = async () => {
    const { failed, stdout } = await run(process.execPath, [LAUNCHER, 'status', '--json'], { env, reject: false });
    if (!failed) fs.writeFileSync(env.FLEET_STATUS, stdout, { mode: 0o600 });
    return !failed || fleet.ending !== null;
  };
  await poll(isSettled, { timeoutMs: 180_000, everyMs: 250 });
  if (fs.existsSync(env.FLEET_STATUS)) return env;
  throw new FleetError(`The fleet for the end-to-end specs did not start:\n${tailOf(logFile, 40)}`);
}

const PARTS: Record<string, Part> = { format, types, lint, unit, launcher, e2e, fuzz };

export const PART_NAMES = Object.keys(PARTS);

/** Runs the parts and projects by name, else everything. @returns 0 only when everything passed */
export async function test(names: readonly string[], jestArgs: readonly string[]): Promise<number> {
  const { parts, projects } = select(names);
  const context: TestContext = { ...createTemporaryGroup(), projects, jestArgs };
  const clean = () => context.group.release(60_000); // a fleet under test stops its own processes first
  onSignal(clean);
  const total = { passed: 0, failed: 0 };
  const summary: string[] = [];
  for (const name of parts) {
    console.log(`\n${bold(`── ${name}`)}`);
    const from = performance.now();
    const { passed, failed } = await runPart(name, context);
    total.passed += passed;
    total.failed += failed;
    const seconds = dim(`${((performance.now() - from) / 1_000).toFixed(1)} s`.padStart(8));
    const counts = `${passed} passed${failed ? `, ${red(`${failed} failed`)}` : ''}`;
    summary.push(`  ${failed ? red('✗') : green('✓')} ${name.padEnd(10)} ${seconds}  ${counts}`);
  }
  await clean();
  console.log(`\n${bold('── summary')}\n${summary.join('\n')}\n\n${total.passed} passed, ${total.failed} failed`);
  return total.failed ? 1 : 0;
}

function select(names: readonly string[]): { parts: string[]; projects: string[] } {
  const known = ['apps', 'libs'].flatMap((kind) => fs.readdirSync(path.join(ROOT, kind)));
  const unknown = names.find((name) => !PARTS[name] && !known.includes(name));
  if (unknown) {
    const choice = `Parts: ${PART_NAMES.join(', ')}, or the name of an app or lib.`;
    throw new FleetError(`There is no part "${unknown}". ${choice}`);
  }
  const projects = names.filter((name) => !PARTS[name] && name !== 'fleet-e2e');
  const selected = new Set([...names, ...(projects.length ? ['unit'] : []), names.includes('fleet-e2e') ? 'e2e' : '']);
  return { parts: PART_NAMES.filter((part) => names.length === 0 || selected.has(part)), projects };
}

async function runPart(name: string, context: TestContext): Promise<PartResult> {
  try {
    return (await PARTS[name]?.(context)) ?? { passed: 0, failed: 1 };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return { passed: 0, failed: 1 };
  }
}
