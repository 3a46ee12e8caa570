import fs from 'node:fs';
import path from 'node:path';
import { say } from '../console.js';
import { readJson, ROOT } from '../paths.js';
import type { ProcessGroup } from '../processes/process-group.js';
import { build } from '../processes/run.js';
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

/** The cache compares contents, since a fresh checkout has new times. */
const SPELLING = ['--no-progress', '--no-summary', '--gitignore', '--cache', '--cache-strategy=content'];
const SPELLING_CACHE = '--cache-location=node_modules/.cache/cspell';

/**
 * Lints everything in one process, in a third of the time of `nx run-many -t lint`, and checks the words. The module
 * boundary rule reads the project graph that nx stores, so nx updates it first.
 * @see docs/CONTRIBUTING.md#words
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

/**
 * Limits the heap of Jest and its workers: each spec file leaves the modules it loaded as garbage, about 200 MB, and Node
 * collects it late on a machine with much memory (workers grew to 3 GB).
 */
const WORKER_HEAP_MB = 1_024;

/** Runs Jest and reads its counts; a run that breaks down counts as one failure. */
export async function runJest(
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
    '--maxWorkers=2',
    ...args,
    '--json',
    `--outputFile=${report}`,
  ];
  const options = { cwd: ROOT, env: { ...env, NODE_ENV: 'test' }, quiet: true };
  const exitCode = await group.run(process.execPath, all, options);
  const counts = readJson<{ numPassedTests: number; numFailedTests: number }>(report);
  const failed = counts?.numFailedTests ?? 0;
  return { ok: exitCode === 0, passed: counts?.numPassedTests ?? 0, failed: exitCode && !failed ? 1 : failed };
}

/** Runs the checks below `tools` with Node's test runner: launcher, edge, built services, lint rules, compose file. */
export const launcher: Part = async ({ dir, group }) => {
  await build();
  const files = fs.readdirSync(path.join(ROOT, 'tools'), { recursive: true, encoding: 'utf8' });
  const checks = files.filter((name) => name.endsWith('.test.mjs')).map((name) => path.join('tools', name));
  const report = path.join(dir, 'launcher.tap');
  const reporters = ['spec', 'tap'].map((reporter) => `--test-reporter=${reporter}`);
  const destinations = ['stdout', report].map((file) => `--test-reporter-destination=${file}`);
  const args = ['--test', '--test-concurrency=2', ...reporters, ...destinations, ...checks];
  const ok = (await group.run(process.execPath, args, { cwd: ROOT })) === 0;
  const [, passed, failed] = /^# pass (\d+)\n# fail (\d+)/m.exec(fs.readFileSync(report, 'utf8')) ?? [];
  return { ok, passed: Number(passed ?? 0), failed: Number(failed ?? 1) || (ok ? 0 : 1) };
};
