import fs from 'node:fs';
import path from 'node:path';
import { say } from '../console.js';
import { entryPointOf, SERVICE_NAMES } from '../fleet/services.js';
import { readJson, ROOT } from '../paths.js';
import type { ProcessGroup } from '../processes/process-group.js';
import { build, run } from '../processes/run.js';
import { startThrowawayStores } from '../stores/throwaway.js';

export interface PartResult {
  ok: boolean;
  passed: number;
  failed: number;
}

export interface TestContext {
  /** A temporary folder of the run. */
  dir: string;
  group: ProcessGroup;
  projects: readonly string[];
  jestArgs: readonly string[];
  /** Run at the end, also after a signal. */
  cleanups: (() => Promise<void>)[];
}

export type Part = (context: TestContext) => Promise<PartResult>;

/** Returns a part that runs installed tools one after the other and counts as one test. */
function toolPart(...commands: readonly (readonly [name: string, ...args: string[]])[]): Part {
  return async ({ group }) => {
    for (const [name, ...args] of commands) {
      const options = { cwd: ROOT, env: { NX_DAEMON: 'false' }, quiet: name === 'nx' };
      const exitCode = await group.run(path.join(ROOT, 'node_modules/.bin', name), args, options);
      if (exitCode !== 0) return { ok: false, passed: 0, failed: 1 };
    }
    return { ok: true, passed: 1, failed: 0 };
  };
}

export const format = toolPart(['prettier', '--check', '--cache', '--cache-strategy=content', '--log-level=warn', '.']);
export const types = toolPart(['tsc', '-b']);

/** Checks words in code, comments and docs. The cache compares contents, since a fresh checkout has new times. */
const SPELLING = ['--no-progress', '--no-summary', '--gitignore', '--cache', '--cache-strategy=content'];
const SPELLING_CACHE = '--cache-location=node_modules/.cache/cspell';

/**
 * Lints everything in one process, in a third of the time of `nx run-many -t lint`. The module boundary rule reads the
 * project graph that nx stores, so nx updates it first.
 */
export const lint = toolPart(
  ['nx', 'show', 'projects'],
  ['eslint', 'apps', 'libs', 'tools', 'bench', '*.mjs'],
  ['cspell', 'lint', ...SPELLING, SPELLING_CACHE, '.'],
);

/** Runs the specs of the apps and libs; all spec files share one PostgreSQL server. */
export const unit: Part = async (context) => {
  const stores = await startThrowawayStores(say);
  context.cleanups.push(stores.stop);
  const selected = context.projects.length ? ['--selectProjects', ...context.projects] : [];
  const result = await runJest(context, 'unit', [...context.jestArgs, ...selected], stores.variables);
  await stores.stop();
  return result;
};

/** Runs Jest and reads its counts; a run that breaks down counts as one failure. */
export async function runJest(
  { dir, group }: TestContext,
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<PartResult> {
  const report = path.join(dir, `${name}.json`);
  const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
  const all = [jest, '--maxWorkers=2', ...args, '--json', `--outputFile=${report}`];
  const options = { cwd: ROOT, env: { ...env, NODE_ENV: 'test' }, quiet: true };
  const exitCode = await group.run(process.execPath, all, options);
  const counts = readJson<{ numPassedTests: number; numFailedTests: number }>(report);
  const failed = counts?.numFailedTests ?? 0;
  return { ok: exitCode === 0, passed: counts?.numPassedTests ?? 0, failed: exitCode && !failed ? 1 : failed };
}

/**
 * Checks that what was built starts under plain Node: specs run as CommonJS and do not notice an import that fails as an
 * ES module. A service without configuration must name every missing variable and end; every lib must load.
 */
export const setup: Part = async () => {
  await build();
  const libs = fs.readdirSync(path.join(ROOT, 'libs')).map((name) => path.join(ROOT, 'libs', name, 'dist/index.js'));
  const built = libs.filter((entry) => fs.existsSync(entry)); // others are used by specs only
  const problems = (await Promise.all([...SERVICE_NAMES.map(problemOfService), ...built.map(problemOfLib)])).flat();
  problems.forEach((problem) => say(problem));
  const checks = SERVICE_NAMES.length + built.length;
  return { ok: problems.length === 0, passed: checks - problems.length, failed: problems.length };
};

async function problemOfService(name: (typeof SERVICE_NAMES)[number]): Promise<string[]> {
  const env = { PATH: process.env['PATH'] };
  const options = { cwd: '/', env, extendEnv: false, timeout: 60_000, reject: false } as const;
  const { exitCode, all } = await run(process.execPath, [entryPointOf(name)], options);
  if (!exitCode) return [`${name} did not refuse to start without configuration`];
  const expected = ['DATABASE_URL', 'WORKER_DATABASE_URL', 'REDIS_URL', 'NATS_URL'];
  const unnamed = expected.filter((variable) => !all.includes(variable));
  return unnamed.length ? [`${name} did not name ${unnamed.join(', ')}:\n${all.slice(0, 2_000)}`] : [];
}

async function problemOfLib(entry: string): Promise<string[]> {
  const script = `await import(${JSON.stringify(entry)}); process.exit(0)`;
  const { failed, all } = await run(process.execPath, ['--input-type=module', '-e', script], { reject: false });
  return failed ? [`${entry} does not load: ${all.slice(0, 2_000)}`] : [];
}

/** Runs the checks below `tools` with Node's test runner: launcher, edge, lint rules, compose file. */
export const launcher: Part = async ({ dir, group }) => {
  const files = fs.readdirSync(path.join(ROOT, 'tools'), { recursive: true, encoding: 'utf8' });
  const checks = files.filter((name) => name.endsWith('.test.mjs')).map((name) => path.join('tools', name));
  const report = path.join(dir, 'launcher.tap');
  const reporters = ['spec', 'tap'].map((reporter) => `--test-reporter=${reporter}`);
  const destinations = ['stdout', report].map((file) => `--test-reporter-destination=${file}`);
  const args = ['--test', '--test-concurrency=2', ...reporters, ...destinations, ...checks];
  const exitCode = await group.run(process.execPath, args, { cwd: ROOT });
  const text = fs.readFileSync(report, 'utf8');
  const count = (word: string) => Number(new RegExp(`^# ${word} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { ok: exitCode === 0, passed: count('pass'), failed: Math.max(count('fail'), exitCode === 0 ? 0 : 1) };
};
