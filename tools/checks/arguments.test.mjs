// A wrong argument is refused with one line that names the problem, and nothing is done.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { withWorkers } from '../dist/commands/test.js';
import { parseJson, ROOT } from '../dist/paths.js';
import { identify } from '../dist/processes/process-record.js';
import { storePassword } from '../dist/stores/store.js';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-arguments-'));
const dataDir = path.join(dir, 'data');
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const fleet = (args, env = {}) =>
  spawnSync(path.join(ROOT, 'fleet'), args, {
    encoding: 'utf8',
    env: { ...process.env, FLEET_DATA_DIR: dataDir, ...env },
  });

const BENCHES =
  /'load' is invalid for argument 'name'\. Allowed choices are api-key, devices, heartbeats, http, import, imports, lists, login, outbox, partner-export, posture, revoke, users, webhooks, webhooks-fairness, webhooks-history, webhooks-retry-burst/;
const ID = '00000000-0000-4000-8000-000000000000';
const REFUSED = [
  [['nope'], /unknown command 'nope'/],
  [['help', 'nope'], /unknown command 'nope'/],
  [['agents', '--nope'], /^fleet: unknown option '--nope'\. See: /],
  [['up', '--nope'], /unknown option '--nope'/],
  [['up', '--replicas', 'identity=0'], /<service>=<number from 1>/],
  [['down', '--nope'], /unknown option '--nope'/],
  [['status', '--jsn'], /unknown option '--jsn'.*--json/],
  [['env', 'more'], /too many arguments/],
  [['restart'], /missing required argument 'service'/],
  [['restart', 'nope'], /'nope' is invalid for argument 'service'\. Allowed choices are identity,/],
  [['restart', 'identity', 'credentials'], /too many arguments/],
  [['restart', 'identity'], /not running\. Start it with: \.\/fleet up/],
  [['logs', '-n', 'x'], /whole number from 1/],
  [['bench'], /missing required argument 'name'/],
  [['bench', 'load'], BENCHES],
  [['bench', 'http', '--jsn'], /unknown option '--jsn'/],
  [['bench', 'partner-export', '--size', '5'], /whole number from 10000 to 1000000/],
  [['test', 'nope'], /There is no part "nope"/],
  [['emit', 'alert.triggered'], /--org <id>' not specified/],
  [['emit', 'alert.triggered', '--org', 'nope'], /--org must be the id of an organization, got "nope"/],
  [['emit', 'alert.triggered', '--org', ID], /not running/],
  [['replay', 'nope'], /'nope' is invalid for argument 'service'/],
  [['receiver', '--port', '99999'], /whole number from 1 to 65535/],
  [['totp'], /missing required argument 'secret'/],
  [['totp', 'not base32'], /must be base32/],
  [['totp', 'JBSWY3DPEHPK3PXP'], /at least 26 characters/],
];

for (const [args, message] of REFUSED) {
  test(`./fleet ${args.join(' ')} is refused`, () => {
    const { status, stdout, stderr } = fleet(args);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  });
}

test('a FLEET_PORT that is no port is refused before anything starts', () => {
  for (const port of ['abc', '0', '65536']) {
    const { status, stderr } = fleet(['up'], { FLEET_PORT: port });
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`FLEET_PORT must be a port number, got "${port}"`));
  }
  assert.equal(fs.existsSync(dataDir), false);
});

test('every command has a help of its own', () => {
  for (const command of ['up', 'down', 'logs', 'test', 'bench']) {
    const { status, stdout } = fleet([command, '--help']);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`Usage: ./fleet ${command} `));
  }
});

test('a data folder that cannot be used is refused with one line', () => {
  const file = path.join(dir, 'file');
  fs.writeFileSync(file, '');
  for (const unusable of [file, '/proc/fleet']) {
    const { status, stderr } = fleet(['up'], { FLEET_DATA_DIR: unusable });
    assert.equal(status, 1);
    assert.match(stderr, /^fleet: Cannot use .*Set FLEET_DATA_DIR to another folder\.\n$/);
  }
});

const STATE = { phase: 'stopped', records: [], ports: {}, externalStores: [], services: [] };
/** A state file that names this process as the launcher. */
const RUNNING = {
  ...STATE,
  phase: 'ready',
  launcher: identify(process.pid),
  summary: { mailboxUrl: 'http://127.0.0.1:1' },
};
const RESTORE = 'Restore it, or remove all data of this fleet with: ./fleet reset\n$';
const DELETE = 'If no fleet runs, delete this file: data is not affected\\.\n$';

/** Replaces the files of the fleet. */
function writeFiles(files) {
  fs.rmSync(path.join(dataDir, 'dev'), { recursive: true, force: true });
  fs.mkdirSync(path.join(dataDir, 'dev/pg18'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    fs.writeFileSync(path.join(dataDir, 'dev', name), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const DAMAGED = [
  ['up', 'secrets.json', '{ damaged', RESTORE],
  ['up', 'secrets.json', 'null', RESTORE],
  ['up', 'secrets.json', '{}', RESTORE],
  ['up', 'state.json', '[]', DELETE],
  ['down', 'state.json', '{"phase":"ready","records":5}', DELETE],
  ['status', 'state.json', '"x"', DELETE],
  ['env', 'state.json', '{}', DELETE],
  ['up', 'lock.json', '{ damaged', DELETE],
  ['down', 'lock.json', '[]', DELETE],
  ['seed', 'seed.json', '{}', RESTORE],
];

for (const [command, name, content, remedy] of DAMAGED) {
  test(`./fleet ${command} reports and keeps a ${name} with ${content}`, () => {
    writeFiles({ 'state.json': command === 'seed' ? RUNNING : STATE, [name]: content });
    const file = path.join(dataDir, 'dev', name);
    const { status, stderr } = fleet([command]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, new RegExp(`^fleet: ${file} is damaged\\. ${remedy}`));
    assert.equal(fs.readFileSync(file, 'utf8'), content);
  });
}

test('reset removes damaged files', () => {
  writeFiles({ 'state.json': '[]', 'lock.json': 'null', 'secrets.json': '' });
  assert.equal(fleet(['reset', '--yes']).status, 0);
  assert.equal(fs.existsSync(path.join(dataDir, 'dev')), false);
});

test('lost secrets are not replaced while data is sealed with them', () => {
  const file = path.join(dataDir, 'dev/secrets.json');
  const externalStores = ['db.example.test:5432'];
  for (const [prepare, where] of [
    [() => {}, path.join(dataDir, 'dev')],
    [() => fs.rmdirSync(path.join(dataDir, 'dev/pg18')), 'db.example.test:5432'],
  ]) {
    writeFiles({ 'state.json': { ...STATE, externalStores } });
    prepare();
    const { status, stderr } = fleet(['up']);
    assert.equal(status, 1);
    assert.match(
      stderr,
      new RegExp(`^fleet: ${file} is missing, but data in ${where} is sealed with it\\. ${RESTORE}`),
    );
    assert.equal(fs.existsSync(file), false);
    assert.deepEqual(JSON.parse(fs.readFileSync(path.join(dataDir, 'dev/state.json'))).externalStores, externalStores);
  }
});

test('a lost or damaged password of the stores is not replaced while there is a database', () => {
  writeFiles({});
  const file = path.join(dataDir, 'dev/store-secret');
  const refusal = new RegExp(`^${file} is missing or damaged, but ${dataDir}/dev has a database`);
  assert.throws(() => storePassword(path.join(dataDir, 'dev')), { message: refusal });
  assert.equal(fs.existsSync(file), false);
  fs.writeFileSync(file, '\0');
  assert.throws(() => storePassword(path.join(dataDir, 'dev')), { message: refusal });
  assert.equal(fs.readFileSync(file, 'utf8'), '\0');
});

test('a content is like its sample when its fields and elements have the types of the sample', () => {
  const sample = { name: '', ports: {}, list: [{ pid: 0 }] };
  const like = { name: 'x', ports: { a: 1 }, list: [{ pid: 2, more: null }], more: 1 };
  assert.deepEqual(parseJson(JSON.stringify(like), sample), like);
  const others = [{ name: null }, { ports: [] }, { list: {} }, { list: [null] }, { list: [{ pid: '1' }] }];
  for (const other of others) assert.equal(parseJson(JSON.stringify({ ...like, ...other }), sample), null);
});

test('packages are not replaced under a fleet whose lock cannot be read, nor for a wrong benchmark', () => {
  const root = path.join(dir, 'checkout');
  const installed = ['typescript', 'execa', 'commander'].map((name) => [`node_modules/${name}`, { version: '1.0.0' }]);
  const packages = Object.fromEntries(installed);
  const files = {
    'tools/fleet.mjs': fs.readFileSync(path.join(ROOT, 'tools/fleet.mjs')),
    'node_modules/.package-lock.json': JSON.stringify({ packages }),
    'package-lock.json': JSON.stringify({ packages: { ...packages, 'node_modules/execa': { version: '2.0.0' } } }),
    '.data/dev/lock.json': '{ damaged',
  };
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), content);
  }
  const env = { ...process.env, FLEET_DATA_DIR: '' };
  const run = (...args) =>
    spawnSync(process.execPath, [path.join(root, 'tools/fleet.mjs'), ...args], { encoding: 'utf8', env });
  assert.match(run('up').stderr, /^fleet: package-lock\.json changed while the fleet is running\./);
  assert.match(run('bench', 'load').stderr, /^fleet: ENOENT.*tools\/src/, 'compiles at once, and finds no source');
});

test('Jest is given one number of workers, the last one', () => {
  assert.deepEqual(withWorkers(['-t', 'x']), ['-t', 'x', '--maxWorkers=2']);
  assert.deepEqual(withWorkers(['--maxWorkers=4', '-t', 'x', '--maxWorkers=1']), ['-t', 'x', '--maxWorkers=1']);
});
