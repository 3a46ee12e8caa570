import fs from 'node:fs';
import path from 'node:path';
import { say, step } from '../fleet/reporter.mjs';
import { mainOf, serviceNames } from '../fleet/services.mjs';
import { ROOT } from '../paths.mjs';
import { buildServices } from '../prepare/build.mjs';
import { run } from '../processes/run.mjs';

/**
 * Whether what was built starts under plain Node. Specs run down-levelled to CommonJS, so they do not notice an
 * import that only fails as an ES module. A service without configuration must load everything, name all that is
 * missing at once, and end; every lib must load.
 */
export async function setup() {
  await buildServices(step);
  const failures = [];
  for (const name of serviceNames) failures.push(...(await problemsOfService(name)));
  for (const name of fs.readdirSync(path.join(ROOT, 'libs'))) failures.push(...(await problemsOfLib(name)));
  failures.forEach((failure) => say(failure));
  return { ok: failures.length === 0, passed: failures.length ? 0 : 1, failed: failures.length };
}

const EXPECTED = ['DATABASE_URL', 'WORKER_DATABASE_URL', 'REDIS_URL', 'NATS_URL'];

async function problemsOfService(name) {
  const { status, stdout, stderr } = await run(process.execPath, [mainOf(name)], {
    cwd: '/',
    env: { PATH: process.env.PATH },
    timeoutMs: 30_000,
  });
  const said = stdout + stderr;
  if (status === 0 || status === null) return [`${name} without configuration did not refuse to start`];
  const unnamed = EXPECTED.filter((variable) => !said.includes(variable));
  return unnamed.length ? [`${name} did not name ${unnamed.join(', ')}:\n${said.slice(0, 2_000)}`] : [];
}

async function problemsOfLib(name) {
  const entry = path.join(ROOT, 'libs', name, 'dist/index.js');
  if (!fs.existsSync(entry)) return []; // only specs use it
  const { status, stderr } = await run(process.execPath, [
    '--input-type=module',
    '-e',
    `await import(${JSON.stringify(entry)}); process.exit(0)`,
  ]);
  return status === 0 ? [] : [`@rmm/${name} does not load: ${stderr.slice(0, 2_000)}`];
}
