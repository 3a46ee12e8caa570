import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../dist/processes/run.js';
import { checkNats, checkPostgres, checkRedis, withPostgres } from '../dist/stores/clients.js';
import { commandsWith, FleetFixture, namesOfRunning } from './support/fleet-fixture.mjs';

/** These read /proc. */
const onLinux = { skip: process.platform !== 'linux' };

describe('the launcher', () => {
  const fixture = new FleetFixture({ port: 28_080 });
  let started;

  before(async () => {
    started = await fixture.fleet('up', '--detach', '--replicas', 'provisioning=2');
  });
  after(() => fixture.remove());

  it('prints the addresses when the fleet is ready', () => {
    assert.equal(started.status, 0, started.stdout + started.stderr);
    assert.match(started.stdout, /The fleet is ready/);
    assert.match(started.stdout, /http:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(started.stdout, /admin@fleet\.test/);
  });

  it('describes the fleet as JSON', async () => {
    const status = await fixture.status();
    for (const name of ['baseUrl', 'docsUrl', 'mailboxUrl', 'databaseUrl', 'redisUrl', 'natsUrl']) {
      assert.ok(URL.canParse(status[name]), `${name}: ${status[name]}`);
    }
    assert.equal(status.state, 'ready');
    assert.deepEqual(Object.keys(status.admin), ['email', 'password']);
    const names = status.services.map(({ name }) => name);
    assert.deepEqual(names, ['identity', 'credentials', 'partner-gateway', 'provisioning', 'webhook-dispatcher']);
    for (const { state, pid, port, instances } of status.services) {
      assert.deepEqual([state, typeof pid, typeof port], ['ready', 'number', 'number']);
      assert.deepEqual(Object.keys(instances[0]), ['state', 'pid', 'port']);
    }
  });

  it('runs the requested replicas, and the edge sends requests to them in turn', async () => {
    const { baseUrl, services } = await fixture.status();
    const { instances } = services.find(({ name }) => name === 'provisioning');
    assert.equal(instances.length, 2);
    const responses = await Promise.all(Array.from({ length: 8 }, () => fetch(`${baseUrl}/api/v1/devices`)));
    const pids = new Set((await Promise.all(responses.map((response) => response.json()))).map(({ pid }) => pid));
    assert.deepEqual([...pids].sort(), instances.map(({ pid }) => pid).sort());
  });

  it('gives each service its own logins and only the secrets it needs', async () => {
    const { baseUrl } = await fixture.status();
    const envOf = async (route) => (await (await fetch(`${baseUrl}/api/v1/${route}`)).json()).env;
    const [identity, credentials] = [await envOf('users'), await envOf('api-keys')];
    assert.match(identity.DATABASE_URL, /rmm_identity:/);
    assert.match(identity.WORKER_DATABASE_URL, /rmm_identity_worker:/);
    assert.match(identity.MIGRATIONS_DATABASE_URL, /rmm_identity_owner:/);
    assert.match(identity.NATS_URL, /nats:\/\/identity:/);
    assert.match(credentials.NATS_URL, /nats:\/\/credentials:/);
    assert.equal(credentials.BOOTSTRAP_ADMIN_PASSWORD, undefined);
    assert.equal(credentials.NATS_ADMIN_URL, undefined);
    assert.equal(identity.OUTBOUND_EXTRA_ALLOWED_CIDRS, undefined, 'loopback stays refused without --local-receivers');
  });

  it('gives no service a login that can see or do more than its own schema', async () => {
    const { baseUrl } = await fixture.status();
    const { env } = await (await fetch(`${baseUrl}/api/v1/users`)).json();
    await withPostgres(env.DATABASE_URL, async (client) => {
      const { rows } = await client.query(`
        select rolsuper, rolbypassrls, rolcreatedb, rolcreaterole,
               has_schema_privilege('identity', 'usage') as own, has_schema_privilege('identity', 'create') as own_create,
               has_schema_privilege('provisioning', 'usage') as other, has_schema_privilege('public', 'create') as public
          from pg_roles where rolname = current_user`);
      assert.deepEqual(Object.values(rows[0]), [false, false, false, false, true, false, false, false]);
    });
  });

  it('reports at a second up that the fleet is running, and starts nothing', async () => {
    const before = fixture.processes().map(({ pid }) => pid);
    const second = await fixture.fleet('up', '--detach');
    assert.equal(second.status, 0);
    assert.match(second.stdout, /already running \(pid \d+\)/);
    assert.deepEqual(
      fixture.processes().map(({ pid }) => pid),
      before,
    );
  });

  it('refuses a second up with other replicas', async () => {
    const second = await fixture.fleet('up', '--replicas', 'identity=2');
    assert.equal(second.status, 1);
    assert.match(second.stderr, /already running .* without --replicas identity=2/);
  });

  it('allows webhooks to this machine when a second up asks for it', async () => {
    const second = await fixture.fleet('up', '--detach', '--local-receivers');
    assert.equal(second.status, 0, second.stderr);
    const { baseUrl, localReceivers } = await fixture.status();
    assert.equal(localReceivers, true);
    const { env } = await (await fetch(`${baseUrl}/api/v1/webhooks`)).json();
    assert.equal(env.OUTBOUND_EXTRA_ALLOWED_CIDRS, '127.0.0.0/8,::1/128');
  });

  it('restarts a service that ended by itself', async () => {
    const before = (await fixture.status()).services[0];
    await fetch(`http://127.0.0.1:${before.port}/exit`).catch(() => {});
    const isRestarted = await poll(
      async () => {
        const [identity] = (await fixture.status()).services;
        return identity.state === 'ready' && identity.pid !== before.pid;
      },
      { timeoutMs: 15_000, everyMs: 100 },
    );
    assert.ok(isRestarted);
  });

  it('restarts a private store that ended by itself, at its old address', async () => {
    const { redisUrl, natsUrl, databaseUrl } = await fixture.status();
    const stores = fixture.processes().filter(({ name }) => name.startsWith('store:'));
    assert.equal(stores.length, 3);
    for (const { pid } of stores) process.kill(pid, 'SIGKILL');
    const responds = (check, url) => check(url).then(Boolean, () => false);
    const isRestarted = await poll(
      async () =>
        (await responds(checkRedis, redisUrl)) &&
        (await responds(checkNats, natsUrl)) &&
        (await responds(checkPostgres, databaseUrl)),
      { timeoutMs: 20_000, everyMs: 100 },
    );
    assert.ok(isRestarted, fs.readFileSync(path.join(fixture.dir, 'data/dev/log/fleet.log'), 'utf8'));
    const known = () => fixture.processes().filter(({ name }) => name.startsWith('store:'));
    await poll(() => known().length === 3, { timeoutMs: 5_000 });
    assert.equal(known().length, 3, 'down knows the new processes');
  });

  it('restarts one service and leaves the others', async () => {
    const before = (await fixture.status()).services;
    const restarted = await fixture.fleet('restart', 'credentials');
    const log = () => fs.readFileSync(path.join(fixture.dir, 'data/dev/log/fleet.log'), 'utf8');
    assert.equal(restarted.status, 0, restarted.stderr + log());
    const after = (await fixture.status()).services;
    assert.deepEqual(
      before.map(({ pid }, i) => pid !== after[i].pid),
      [false, true, false, false, false],
      log(),
    );
  });

  it('stops everything when the launcher is killed, and the next up finds its data', async () => {
    const processes = fixture.processes();
    const { databaseUrl, admin } = await fixture.status();
    await query(databaseUrl, 'create table public.kept (id int)');
    process.kill(processes[0].pid, 'SIGKILL');
    await poll(() => namesOfRunning(processes).length === 0, { timeoutMs: 15_000, everyMs: 50 });
    assert.deepEqual(namesOfRunning(processes), []);

    const again = await fixture.fleet('up', '--detach');
    assert.equal(again.status, 0, again.stdout);
    const status = await fixture.status();
    assert.equal(status.databaseUrl, databaseUrl, 'addresses stay the same');
    assert.deepEqual(status.admin, admin);
    await query(databaseUrl, 'select id from public.kept');
  });

  it('stops what is left when the watchdog was killed, too', onLinux, async () => {
    const processes = fixture.processes();
    killWatchdog(processes[0].pid);
    process.kill(processes[0].pid, 'SIGKILL');
    await poll(() => namesOfRunning(processes).length === processes.length - 1, { timeoutMs: 5_000 });
    assert.ok(namesOfRunning(processes).includes('store:postgres'));

    const again = await fixture.fleet('up', '--detach');
    assert.equal(again.status, 0, again.stdout);
    assert.match(again.stdout, /stopping processes of an earlier run/);
    assert.deepEqual(namesOfRunning(processes), []);
  });

  it('leaves nothing running after down', async () => {
    const processes = fixture.processes();
    assert.equal((await fixture.fleet('down')).status, 0);
    assert.deepEqual(namesOfRunning(processes), []);
    assert.match((await fixture.fleet('status')).stdout, /not running/);
  });

  it('leaves nothing running after Ctrl-C, even in the middle of the start', async () => {
    const child = fixture.up();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await poll(() => fixture.processes().some(({ name }) => name === 'store:postgres'), { timeoutMs: 15_000 });
    const processes = fixture.processes();
    child.kill('SIGINT');
    await ended;
    assert.deepEqual(namesOfRunning(processes), []);
    assert.equal(fs.existsSync(path.join(fixture.dir, 'data/dev/lock.json')), false);
  });

  it('leaves nothing running, and no lock, whenever Ctrl-C comes in a first start', onLinux, async () => {
    for (const delayMs of [300, 600, 900, 1_200, 1_500]) {
      const fresh = new FleetFixture({ port: 28_080 });
      const child = fresh.up();
      await sleep(delayMs);
      child.kill('SIGINT');
      const [code, signal] = await new Promise((resolve) => child.once('exit', (...ending) => resolve(ending)));
      assert.ok(code === 130 || signal === 'SIGINT', `after ${delayMs} ms: ${code} ${signal}`);
      assert.deepEqual(commandsWith(fresh.dir), [], `after ${delayMs} ms`);
      assert.equal(fs.existsSync(path.join(fresh.dir, 'data/dev/lock.json')), false);
      await fresh.remove();
    }
  });

  it('names the variable when a server of the environment does not respond', async () => {
    fixture.env.REDIS_URL = 'redis://127.0.0.1:1';
    const refused = await fixture.fleet('up');
    delete fixture.env.REDIS_URL;
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /REDIS_URL is set, but that Redis cannot be used/);
  });

  it('names the file when the password of the stores does not fit the database, and keeps it', async () => {
    const file = path.join(fixture.dir, 'data/dev/store-secret');
    const secret = fs.readFileSync(file, 'utf8');
    fs.writeFileSync(file, 'another');
    const refused = await fixture.fleet('up');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^fleet: \S+\/store-secret does not fit the database in \S+\/pg\d+\. Restore it.*\n$/);
    assert.equal(fs.readFileSync(file, 'utf8'), 'another');
    fs.writeFileSync(file, secret);
  });

  it('shows the end of the log of a service that does not start', async () => {
    const main = path.join(fixture.dir, 'apps/credentials/dist/main.js');
    fs.writeFileSync(main, `console.error('DATABASE_URL is missing'); process.exit(1);\n`);
    const refused = await fixture.fleet('up');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /credentials did not start \(exit code 1\)[\s\S]*DATABASE_URL is missing/);
  });
});

const query = (url, sql) => withPostgres(url, (client) => client.query(sql));

/** The watchdog is the launcher's child that runs watchdog.js. */
function killWatchdog(launcher) {
  const children = fs.readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'utf8').trim().split(' ');
  for (const pid of children) {
    if (fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('watchdog.js')) process.kill(Number(pid), 'SIGKILL');
  }
}
