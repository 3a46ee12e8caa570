// A wrong argument is answered with one line that says what is wrong, and nothing is done.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../paths.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-arguments-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const fleet = (args, env = {}) =>
  spawnSync(path.join(ROOT, 'fleet'), args, {
    encoding: 'utf8',
    env: { ...process.env, FLEET_DATA_DIR: path.join(dir, 'data'), ...env },
  });

const BENCHES =
  /Which benchmark\? api-key, http, login, outbox, revoke, users, webhooks, webhooks-fairness, webhooks-storm/;
const REFUSED = [
  [['nope'], /There is no command "nope"/],
  [['up', '--nope'], /Unknown option '--nope'/],
  [['up', '--replicas', 'identity=0'], /--replicas wants <service>=<number from 1>/],
  [['down', '--nope'], /Unknown option '--nope'/],
  [['status', '--jsn'], /Unknown option '--jsn'/],
  [['env', 'more'], /Unexpected argument 'more'/],
  [['restart'], /Restart which service\? identity,/],
  [['restart', 'identity', 'credentials'], /Restart which service\? identity,/],
  [['logs', '-n', 'x'], /-n wants a number of lines from 1, got "x"/],
  [['bench'], BENCHES],
  [['bench', 'load'], BENCHES],
  [['bench', 'http', '--jsn'], /Unknown option '--jsn'/],
  [['bench', 'http', '--quick'], /Unknown option '--quick'/],
  [['test', 'nope'], /There is no part "nope"/],
  [['emit', 'alert.triggered'], /wants --org/],
  [['totp'], /wants the secret/],
];

for (const [args, message] of REFUSED) {
  test(`fleet ${args.join(' ')} is refused`, () => {
    const { status, stdout, stderr } = fleet(args);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  });
}

test('a FLEET_PORT that is none is refused before anything starts', () => {
  for (const port of ['abc', '0', '65536']) {
    const { status, stderr } = fleet(['up'], { FLEET_PORT: port });
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`FLEET_PORT must be a port number, got "${port}"`));
  }
  assert.equal(fs.existsSync(path.join(dir, 'data')), false);
});
