import getPort from 'get-port';
import fs from 'node:fs';
import path from 'node:path';
import { bold, dim, FleetError, green, red, say } from '../console.js';
import { SERVICE_NAMES } from '../fleet/services.js';
import { ensureDir, readJson, ROOT, TOOLS_DIR } from '../paths.js';
import { tailOf } from '../processes/process-group.js';
import { stopProcess } from '../processes/process-record.js';
import { build, onSignal, poll, run } from '../processes/run.js';
import { createTemporaryGroup, startThrowawayStores, type TemporaryGroup } from '../stores/stores.js';
import { PART_NAMES, type PartName } from './choices.js';
import { summarizeWarnings } from './service-warnings.js';
import { GROUPS_DIR, writeSpecGroups } from './spec-groups.js';

interface TestContext extends TemporaryGroup {
  projects: readonly string[];
  jestArgs: readonly string[];
}

type PartResult = { passed: number; failed: number };
type Part = (context: TestContext) => Promise<PartResult>;

const FAILED: PartResult = { passed: 0, failed: 1 };

type Command = readonly [name: string, ...args: string[]];

/** Returns a part that runs installed tools, the commands of a step in parallel, and counts as one test. */
function toolPart(...steps: readonly (readonly Command[])[]): Part {
  return async ({ group }) => {
    for (const commands of steps) {
      const exitCodes = await Promise.all(
        commands.map(([name, ...args]) => {
          const options = { cwd: ROOT, env: { NX_DAEMON: 'false' }, quiet: name === 'nx' };
          return group.run(path.join(ROOT, 'node_modules/.bin', name), args, options);
        }),
      );
      if (exitCodes.some((exitCode) => exitCode !== 0)) return FAILED;
    }
    return { passed: 1, failed: 0 };
  };
}

const format = toolPart([['prettier', '--check', '--cache', '--cache-strategy=content', '--log-level=warn', '.']]);
const types = toolPart([['tsc', '-b']]);

/** The cache compares contents, since a fresh checkout has new times. */
const CSPELL_CACHE = ['--cache', '--cache-strategy=content', '--cache-location=node_modules/.cache/cspell'];

/** Both halves take equally long. */
const FIRST_HALF = ['apps/credentials', 'apps/fleet-e2e', 'apps/partner-gateway', 'apps/provisioning'];
const SECOND_HALF = [...foldersOf('apps'), 'libs', 'packages', 'tools', 'bench', '*.mjs'];

/**
 * Lints everything in two processes, which is faster than a process per project (`nx run-many -t lint`) or one per core
 * that share the files of a project (`eslint --concurrency`), and checks the words meanwhile. The module boundary rule
 * reads the project graph that nx stores, so nx updates it first.
 * @see docs/CONTRIBUTING.md#words
 */
const lint = toolPart(
  [['nx', 'show', 'projects']],
  [
    ['eslint', ...FIRST_HALF],
    ['eslint', ...SECOND_HALF.filter((folder) => !FIRST_HALF.includes(folder))],
    ['cspell', 'lint', '--no-progress', '--no-summary', '--gitignore', ...CSPELL_CACHE, '.'],
  ],
);

/** Runs the specs of the apps and libs; all spec files share one PostgreSQL server. With options of Jest each file has its own modules. */
const unit: Part = async (context) => {
  const { projects, jestArgs } = context;
  const env = { TEST_STORES: await startThrowawayStores(context, say), SPEC_GROUPS: GROUPS_DIR };
  if (jestArgs.length) {
    return runJest(context, 'unit', [...jestArgs, ...(projects.length ? ['--selectProjects', ...projects] : [])], env);
  }
  writeSpecGroups();
  const selected = projects.map((project) => `/${project}-\\d+\\.spec`);
  return runJest(context, 'unit', ['-c', 'jest.groups.config.mjs', ...selected], env);
};

/** Each spec file leaves 200 MB of modules as garbage, which Node collects late on a machine with much memory. */
const WORKER_HEAP = ['--max-old-space-size=1024', '--max-semi-space-size=64'];

const WORKERS = '--maxWorkers=';

/** Returns the options with one number of workers, the last one given: of an option that is given twice Jest reads the first. */
export function withWorkers(args: readonly string[]): string[] {
  const last = args.findLast((arg) => arg.startsWith(WORKERS)) ?? `${WORKERS}2`;
  return [...args.filter((arg) => !arg.startsWith(WORKERS)), last];
}

/** Runs Jest and reads its counts; a run that breaks down counts as one failure. */
async function runJest({ dir, group }: TestContext, name: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const report = path.join(dir, `${name}.json`);
  const program = [...WORKER_HEAP, path.join(ROOT, 'node_modules/jest/bin/jest.js')];
  const all = [...program, ...withWorkers(args), '--json', `--outputFile=${report}`];
  const options = { cwd: ROOT, env: { ...env, NODE_ENV: 'test' }, quiet: true };
  const exitCode = await group.run(process.execPath, all, options);
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
const OWN_FLEETS = '/src/own-fleets/';
const FUZZ = '/src/fuzz/';

const TWO_REPLICAS = ['--replicas', SERVICE_NAMES.map((service) => `${service}=2`).join(',')];

/** A busy machine takes minutes; a fleet that fails to start is noticed at once. */
const FLEET_START_MS = 600_000;
/** Each look at the status is a process of half a second of CPU time, which the services need to start. */
const FLEET_POLL_MS = 1_500;
/** A fleet stops its own processes first. */
const FLEET_STOP_MS = 60_000;

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Returns the Jest option that runs the specs of one folder only. */
const only = (folder: string): string[] => ['--testPathIgnorePatterns', `^(?!.*${folder})`, '--maxWorkers=1'];

/**
 * Runs the end-to-end specs against a fleet of two replicas: first those that share it, then one by one those that stop its
 * processes, then those that start a fleet themselves. Two fleets at once would take longer on two cores, since what waits
 * for a busy replica asks again and again.
 */
const e2e: Part = async (context) => {
  const more = process.env['E2E_FLEET_OPTIONS']?.split(' ') ?? [];
  const fleet = await startFleet(context, 'fleet', [...TWO_REPLICAS, ...more], await tracing());
  const config = ['-c', 'apps/fleet-e2e/jest.config.mjs', '--passWithNoTests', ...context.jestArgs];
  const common = [...config, '--testPathIgnorePatterns', `${OUTAGES}|${OWN_FLEETS}|${FUZZ}`];
  const results = [
    await runJest(context, 'e2e', common, fleet.env),
    await runJest(context, 'outages', [...config, ...only(OUTAGES)], fleet.env),
  ];
  await fleet.stop();
  if (results.some(({ failed }) => failed > 0)) printWarnings(fleet);
  results.push(await runJest(context, 'own-fleets', [...config, ...only(OWN_FLEETS)], { FLEET_TOOLS_DIR: TOOLS_DIR }));
  return { passed: sum(results.map(({ passed }) => passed)), failed: sum(results.map(({ failed }) => failed)) };
};

/** Prints what the services of a fleet logged, since its log files are deleted with it. */
function printWarnings({ logDir }: TestFleet): void {
  console.log(bold('Warnings of the services, those of outages that a spec causes included'));
  for (const line of summarizeWarnings(logDir)) console.log(dim(line));
}

/** Returns variables that record one trace in four, for a collector that a spec starts; the other fleets record none. */
async function tracing(): Promise<Record<string, string>> {
  const port = await getPort({ host: '127.0.0.1' });
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    WEBHOOK_SEND_TRACEPARENT: 'true',
  };
}

/** Sends mutated requests to a fleet of its own: rate limits would refuse most of them before a handler reads them. */
const fuzz: Part = async (context) => {
  const fleet = await startFleet(context, 'fuzz', [], { RATE_LIMITS_ENABLED: 'false' });
  const args = ['-c', 'apps/fleet-e2e/jest.config.mjs', ...context.jestArgs, ...only(FUZZ)];
  const result = await runJest(context, 'fuzz-report', args, fleet.env);
  await fleet.stop();
  if (result.failed > 0) printWarnings(fleet);
  return result;
};

/**
 * Returns the variable that starts the services of `PREVIOUS_CHECKOUT`, when it is set: a built checkout of the release before.
 * The services are links, which the spec of a rolling restart replaces by those of this checkout.
 * @see docs/guides/upgrade.md
 */
function previousBuild(dir: string): Record<string, string> {
  const previous = process.env['PREVIOUS_CHECKOUT'];
  if (!previous) return {};
  const apps = ensureDir(path.join(dir, 'previous-apps'));
  for (const name of SERVICE_NAMES) fs.symlinkSync(path.resolve(previous, 'apps', name), path.join(apps, name));
  return { FLEET_APPS_DIR: apps };
}

interface TestFleet {
  /** Variables of its specs. */
  env: NodeJS.ProcessEnv;
  logDir: string;
  stop(): Promise<void>;
}

/** Starts a fleet that ends with the group at the latest, with the shortest wait that is allowed. */
async function startFleet(
  { dir, group }: TestContext,
  name: string,
  options: readonly string[],
  configuration = {},
): Promise<TestFleet> {
  const own = { FLEET_DATA_DIR: path.join(dir, name), FLEET_TOOLS_DIR: TOOLS_DIR, FLEET_PORT: '18080' };
  const privateStores = { DATABASE_URL: '', REDIS_URL: '', NATS_URL: '' };
  const shared = {
    DEVICE_OFFLINE_AFTER_SECONDS: '60',
    GLOBAL_RATE_LIMIT_PER_MINUTE: '3000', // on a slow machine a spec asks for a result 300 times a minute
    SHUTDOWN_DELAY_SECONDS: '5', // as in production: readiness is asked before each request of a rolling restart
    AGENT_RELEASE_DIR: path.join(ROOT, 'apps/fleet-e2e/agents'),
  };
  const env = {
    ...own,
    ...privateStores,
    ...shared,
    ...configuration,
    ...previousBuild(ensureDir(path.join(dir, name))),
    FLEET_STATUS: path.join(dir, `${name}-status.json`),
  };
  const logFile = path.join(dir, `${name}.log`);
  const args = [LAUNCHER, 'up', '--local-receivers', ...options];
  const upEnv = { ...process.env, ...env, FLEET_ENDS_WITH_PARENT: '1' };
  const fleet = group.start({ name, command: process.execPath, args, cwd: ROOT, env: upEnv, logFile });
  const isSettled = async () => {
    const { failed, stdout } = await run(process.execPath, [LAUNCHER, 'status', '--json'], { env, reject: false });
    if (!failed) fs.writeFileSync(env.FLEET_STATUS, stdout, { mode: 0o600 });
    return !failed || fleet.ending !== null;
  };
  await poll(isSettled, { timeoutMs: FLEET_START_MS, everyMs: FLEET_POLL_MS });
  const stop = () => stopProcess(fleet.record, FLEET_STOP_MS);
  if (fs.existsSync(env.FLEET_STATUS)) return { env, logDir: path.join(own.FLEET_DATA_DIR, 'dev/log'), stop };
  throw new FleetError(`The fleet for the end-to-end specs did not start:\n${tailOf(logFile, 40)}`);
}

const PARTS: Record<PartName, Part> = { format, types, lint, unit, launcher, e2e, fuzz };

const isPart = (name: string): boolean => Object.hasOwn(PARTS, name);

/** Runs the parts and projects by name, else everything. @returns 0 only when everything passed */
export async function test(names: readonly string[], jestArgs: readonly string[]): Promise<number> {
  const { parts, projects } = select(names);
  const context: TestContext = { ...createTemporaryGroup(), projects, jestArgs };
  const clean = () => context.group.release(FLEET_STOP_MS);
  onSignal(clean);
  const total = { passed: 0, failed: 0 };
  const summary: string[] = [];
  for (const [name, part] of parts) {
    console.log(`\n${bold(`── ${name}`)}`);
    const from = performance.now();
    const { passed, failed } = await part(context).catch((error: Error) => {
      console.error(error.message);
      return FAILED;
    });
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

function foldersOf(kind: string): string[] {
  return fs.readdirSync(path.join(ROOT, kind)).map((name) => `${kind}/${name}`);
}

function select(names: readonly string[]): { parts: [string, Part][]; projects: string[] } {
  const known = ['apps', 'libs', 'packages'].flatMap((kind) => fs.readdirSync(path.join(ROOT, kind)));
  const unknown = names.find((name) => !isPart(name) && !known.includes(name));
  if (unknown) {
    throw new FleetError(`There is no part "${unknown}". Parts: ${PART_NAMES.join(', ')}, or an app or lib.`);
  }
  const projects = names.filter((name) => !isPart(name) && name !== 'fleet-e2e');
  const selected = new Set([...names, ...(projects.length ? ['unit'] : []), names.includes('fleet-e2e') ? 'e2e' : '']);
  const parts = PART_NAMES.filter((part) => names.length === 0 || selected.has(part));
  return { parts: parts.map((part) => [part, PARTS[part]]), projects };
}
