import fs from 'node:fs';
import path from 'node:path';
import { readJson, ROOT } from '../paths.mjs';
import { runInForeground } from '../processes/foreground.mjs';

/**
 * Runs Jest and reads its counts.
 * @param {string[]} args
 * @param {{ env: object, dir: string, name: string, workers?: number }} options  `dir`: where the report is put
 * @returns {Promise<{ ok: boolean, passed: number, failed: number }>} a run that broke down counts as one failure
 */
export async function runJest(args, { env, dir, name, workers = 2 }) {
  const report = path.join(dir, `${name}.json`);
  fs.rmSync(report, { force: true });
  const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
  const all = [...args, `--maxWorkers=${workers}`, '--json', `--outputFile=${report}`];
  const code = await runInForeground(process.execPath, [jest, ...all], {
    cwd: ROOT,
    env: { ...process.env, ...env, NODE_ENV: 'test' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { numPassedTests: passed = 0, numFailedTests: failed = 0 } = readJson(report, {});
  return { ok: code === 0, passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}
