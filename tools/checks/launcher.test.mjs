import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commandLineOf, pids } from '../processes/proc.mjs';
import { poll, sleep } from '../processes/wait.mjs';
import { probeNats } from '../stores/probe-nats.mjs';
import { postgresClient, probePostgres } from '../stores/probe-postgres.mjs';
import { probeRedis } from '../stores/probe-redis.mjs';
import { shelterPath } from '../stores/unprivileged.mjs';
import { FleetFixture, stillAlive } from './support/fleet-fixture.mjs';

/** These look into /proc. */
const onLinux = { skip: process.platform !== 'linux' };

describe('the launcher', () => {
  const fixture = new FleetFixture({ port: 28_080 });
  let started;

  before(async () => {
    started = await fixture.fleet('up', '--detach', '--replicas', 'provisioning=2');
  });
  after(() => fixture.remove());

  it('says when the fleet is ready and where', () => {
    assert.equal(started.status, 0, started.stdout + started.stderr);
    assert.match(started.stdout, /The fleet is ready/);
    assert.match(started.stdout, /http:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(started.stdout, /admin@fleet\.test/);
  });

  it('describes the fleet as JSON', async () => {
    const status = await fixture.status();
    for (const name of ['baseUrl', 'docsUrl', 'mailboxUrl', 'databaseUrl', 'redisUrl', 'natsUrl', 'natsAdminUrl']) {
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

  it('runs the replicas it was asked for, and the edge gives them turns', async () => {
    const { baseUrl, services } = await fixture.status();
    const { instances } = services.find(({ name }) => name === 'provisioning');
    assert.equal(instances.length, 2);
    const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(`${baseUrl}/api/v1/devices`)));
    const pids = new Set((await Promise.all(answers.map((answer) => answer.json()))).map(({ pid }) => pid));
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
    const client = postgresClient(env.DATABASE_URL);
    await client.connect();
    try {
      const { rows } = await client.query(`
        select rolsuper, rolbypassrls, rolcreatedb, rolcreaterole,
               has_schema_privilege('identity', 'usage') as own, has_schema_privilege('identity', 'create') as own_create,
               has_schema_privilege('provisioning', 'usage') as other, has_schema_privilege('public', 'create') as public
          from pg_roles where rolname = current_user`);
      assert.deepEqual(Object.values(rows[0]), [false, false, false, false, true, false, false, false]);
    } finally {
      await client.end();
    }
  });

  it('tells a second up that the fleet is running, and starts nothing', async () => {
    const before = fixture.processes().map(({ pid }) => pid);
    const second = await fixture.fleet('up', '--detach');
    assert.equal(second.status, 0);
    assert.match(second.stdout, /already running \(pid \d+\)/);
    assert.deepEqual(
      fixture.processes().map(({ pid }) => pid),
      before,
    );
  });

  it('refuses a second up that asks for something else', async () => {
    const second = await fixture.fleet('up', '--local-receivers');
    assert.equal(second.status, 1);
    assert.match(second.stderr, /already running .* without --local-receivers/);
  });

  it('starts a service again that ended by itself', async () => {
    const before = (await fixture.status()).services[0];
    await fetch(`http://127.0.0.1:${before.port}/exit`).catch(() => {});
    const healed = await poll(
      async () => {
        const [identity] = (await fixture.status()).services;
        return identity.state === 'ready' && identity.pid !== before.pid;
      },
      { timeoutMs: 15_000, everyMs: 100 },
    );
    assert.ok(healed);
  });

  it('starts a private store again that ended by itself, at its old address', async () => {
    const { redisUrl, natsUrl, databaseUrl } = await fixture.status();
    const stores = fixture.processes().filter(({ name }) => name.startsWith('store:'));
    assert.equal(stores.length, 3);
    for (const { pid } of stores) process.kill(pid, 'SIGKILL');
    const answers = (probe, url) => probe(url).then(Boolean, () => false);
    const healed = await poll(
      async () =>
        (await answers(probeRedis, redisUrl)) &&
        (await answers(probeNats, natsUrl)) &&
        (await answers(probePostgres, databaseUrl)),
      { timeoutMs: 20_000, everyMs: 100 },
    );
    assert.ok(healed, fs.readFileSync(path.join(fixture.dir, 'data/dev/log/fleet.log'), 'utf8'));
    const known = () => fixture.processes().filter(({ name }) => name.startsWith('store:'));
    await poll(() => known().length === 3, { timeoutMs: 5_000 });
    assert.equal(known().length, 3, 'what was started again is known to down');
  });

  it('restarts one service and leaves the others', async () => {
    const before = (await fixture.status()).services;
    const restarted = await fixture.fleet('restart', 'credentials');
    assert.equal(restarted.status, 0, restarted.stderr);
    const after = (await fixture.status()).services;
    assert.deepEqual(
      before.map(({ pid }, i) => pid !== after[i].pid),
      [false, true, false, false, false],
    );
  });

  it('survives kill -9: the watchdog stops what it left, and the next up finds its data', async () => {
    const processes = fixture.processes();
    const { databaseUrl, admin } = await fixture.status();
    await query(databaseUrl, 'create table public.kept (id int)');
    process.kill(processes[0].pid, 'SIGKILL');
    await poll(() => stillAlive(processes).length === 0, { timeoutMs: 15_000, everyMs: 50 });
    assert.deepEqual(stillAlive(processes), []);

    const again = await fixture.fleet('up', '--detach');
    assert.equal(again.status, 0, again.stdout);
    const status = await fixture.status();
    assert.equal(status.databaseUrl, databaseUrl, 'addresses stay the same');
    assert.deepEqual(status.admin, admin);
    await query(databaseUrl, 'select id from public.kept');
  });

  it('clears what is left when the watchdog was killed too', onLinux, async () => {
    const processes = fixture.processes();
    killWatchdog(processes[0].pid);
    process.kill(processes[0].pid, 'SIGKILL');
    await poll(() => stillAlive(processes).length === processes.length - 1, { timeoutMs: 5_000 });
    assert.ok(stillAlive(processes).includes('store:postgres'));

    const again = await fixture.fleet('up', '--detach');
    assert.equal(again.status, 0, again.stdout);
    assert.match(again.stdout, /stopping what an earlier run left/);
    assert.deepEqual(stillAlive(processes), []);
  });

  it('leaves nothing running after down', async () => {
    const processes = fixture.processes();
    assert.equal((await fixture.fleet('down')).status, 0);
    assert.deepEqual(stillAlive(processes), []);
    assert.match((await fixture.fleet('status')).stdout, /not running/);
  });

  it('leaves nothing running after Ctrl-C, even in the middle of the start', async () => {
    const child = fixture.up();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await poll(() => fixture.processes().some(({ name }) => name === 'store:postgres'), { timeoutMs: 15_000 });
    const processes = fixture.processes();
    child.kill('SIGINT');
    await ended;
    assert.deepEqual(stillAlive(processes), []);
    assert.equal(fs.existsSync(path.join(fixture.dir, 'data/dev/lock.json')), false);
  });

  it('leaves nothing running, and no lock, whenever Ctrl-C comes in a first start', onLinux, async () => {
    for (const delayMs of [300, 600, 900, 1_200, 1_500]) {
      const fresh = new FleetFixture({ port: 28_080 });
      const child = fresh.up();
      await sleep(delayMs);
      child.kill('SIGINT');
      await new Promise((resolve) => child.once('exit', resolve));
      assert.deepEqual(commandsNaming(fresh.dir), [], `after ${delayMs} ms`);
      assert.equal(fs.existsSync(path.join(fresh.dir, 'data/dev/lock.json')), false);
      assert.equal(
        fs.existsSync(shelterPath(path.join(fresh.dir, 'data/dev'))),
        false,
        'nothing beside the data folder',
      );
      await fresh.remove();
    }
  });

  it('names the variable when a server it was told to use does not answer', async () => {
    const env = { ...fixture.env, REDIS_URL: 'redis://127.0.0.1:1' };
    const refused = await Object.assign(Object.create(FleetFixture.prototype), { ...fixture, env }).fleet('up');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /REDIS_URL is set, but that Redis cannot be used/);
  });

  it('shows the end of the log of a service that does not start', async () => {
    const main = path.join(fixture.dir, 'apps/credentials/dist/main.js');
    fs.writeFileSync(main, `console.error('DATABASE_URL is missing'); process.exit(1);\n`);
    const refused = await fixture.fleet('up');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /credentials ended at its start \(exit code 1\)[\s\S]*DATABASE_URL is missing/);
  });
});

async function query(url, sql) {
  const client = postgresClient(url);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** The watchdog is the launcher's child that runs watchdog.mjs. */
function killWatchdog(launcher) {
  for (const pid of fs.readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'utf8').trim().split(' ')) {
    if (commandLineOf(pid).includes('watchdog.mjs')) process.kill(Number(pid), 'SIGKILL');
  }
}

/** Whatever still runs with this folder in its command line. */
function commandsNaming(dir) {
  return pids()
    .map(commandLineOf)
    .filter((command) => command.includes(dir));
}
