import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../paths.mjs';
import { runInForeground } from '../processes/foreground.mjs';
import { SPELLING_ARGUMENTS } from './spelling.mjs';

/** Runs the command of an installed package (`node_modules/.bin`); counts as one test. */
async function tool(name, args, options = {}) {
  const bin = path.join(ROOT, 'node_modules/.bin', name);
  const code = await runInForeground(bin, args, { cwd: ROOT, env: { ...process.env, NX_DAEMON: 'false' }, ...options });
  return code === 0;
}

const counted = (ok) => ({ ok, passed: ok ? 1 : 0, failed: ok ? 0 : 1 });

/**
 * Everything in one process, which finds what `nx run-many -t lint` finds in a third of its time. The rules about
 * boundaries read the project graph that nx keeps, so nx is asked first, to bring it up to date.
 */
export async function lint() {
  const graph = await tool('nx', ['show', 'projects'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = graph && (await tool('eslint', ['apps', 'libs', 'tools', '*.mjs']));
  const words = await tool('cspell', SPELLING_ARGUMENTS);
  return counted(code && words);
}

export const format = async () =>
  counted(await tool('prettier', ['--check', '--cache', '--cache-strategy=content', '--log-level=warn', '.']));

export const types = async () => counted(await tool('tsc', ['-b']));

/** The checks of the launcher, the edge, the lint rules and the compose file (every `.test.mjs` below `tools`), run by Node's own test runner. */
export async function launcher({ dir, env }) {
  const tools = path.join(ROOT, 'tools');
  const files = fs.readdirSync(tools, { recursive: true }).filter((name) => name.endsWith('.test.mjs'));
  const report = path.join(dir, 'launcher.tap');
  const reporters = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${report}`,
  ];
  const args = ['--test', '--test-concurrency=2', ...reporters, ...files.map((name) => path.join(tools, name))];
  const code = await runInForeground(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
  const count = (word) => Number(new RegExp(`^# ${word} (\\d+)`, 'm').exec(fs.readFileSync(report, 'utf8'))?.[1] ?? 0);
  return { ok: code === 0, passed: count('pass'), failed: Math.max(count('fail'), code === 0 ? 0 : 1) };
}
