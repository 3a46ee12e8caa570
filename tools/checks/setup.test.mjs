// What was built starts under plain Node: specs run as CommonJS and do not notice an import that fails as an ES module.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { entryPointOf, SERVICE_NAMES } from '../dist/fleet/services.js';
import { ROOT } from '../dist/paths.js';

const REQUIRED = ['DATABASE_URL', 'WORKER_DATABASE_URL', 'REDIS_URL', 'NATS_URL'];

for (const name of SERVICE_NAMES) {
  test(`${name} without configuration names every missing variable and ends`, () => {
    const options = { cwd: '/', env: { PATH: process.env.PATH }, encoding: 'utf8', timeout: 60_000 };
    const { status, stdout, stderr } = spawnSync(process.execPath, [entryPointOf(name)], options);
    assert.ok(status > 0, `exit code ${status}`);
    for (const variable of REQUIRED) assert.ok((stdout + stderr).includes(variable), variable);
  });
}

for (const name of fs.readdirSync(path.join(ROOT, 'libs'))) {
  const entry = path.join(ROOT, 'libs', name, 'dist/index.js');
  const isUsedBySpecsOnly = name.startsWith('testing');
  test(`@rmm/${name} loads as an ES module`, { skip: isUsedBySpecsOnly }, () => {
    const script = `await import(${JSON.stringify(entry)}); process.exit(0)`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });
}
