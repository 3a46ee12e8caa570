// Breaks a running fleet of the real services in one way at a time and expects `./fleet doctor` to name it.
import { Redis } from 'ioredis';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseEnv } from 'node:util';
import { fleetDatabase } from '../dist/fleet/database.js';
import { environmentOf } from '../dist/fleet/service-environment.js';
import { poll } from '../dist/processes/run.js';
import { withNats, withPostgres } from '../dist/stores/clients.js';
import { FleetFixture } from './support/fleet-fixture.mjs';

/** Listens on a free port. @returns the server and its port */
function listen(server) {
  return new Promise((resolve) => {
    server.unref().listen(0, '127.0.0.1', () => resolve({ server, port: server.address().port }));
  });
}

describe('./fleet doctor', () => {
  const fixture = new FleetFixture({ port: 28_300 });
  delete fixture.env.FLEET_APPS_DIR;
  let summary;

  const doctor = async (...options) => {
    const { status, stdout, stderr } = await fixture.fleet('doctor', '--json', ...options);
    assert.equal(stderr, '');
    return { status, ...JSON.parse(stdout) };
  };
  /** Runs it on a broken fleet. @returns the finding whose text matches */
  const findingOf = async (pattern, ...options) => {
    const { status, ok, findings } = await doctor(...options);
    assert.deepEqual([status, ok], [1, false], JSON.stringify(findings));
    const found = findings.find(({ subject, what }) => pattern.test(`${subject}: ${what}`));
    assert.ok(found, `${pattern} matches none of ${JSON.stringify(findings, null, 2)}`);
    for (const part of ['why', 'action']) assert.ok(found[part].length > 10, `${part} of ${found.what}`);
    return found;
  };
  const sql = (text) => withPostgres(summary.databaseUrl, (client) => client.query(text));

  /** Writes the environment of a service, as a deployment sets it, to a file. */
  const writeEnv = (service, changes) => {
    const secrets = JSON.parse(fs.readFileSync(path.join(fixture.dir, 'data/dev/secrets.json'), 'utf8'));
    const store = (url) => ({ url, isPrivate: true });
    const stores = { redis: store(summary.redisUrl), nats: store(summary.natsUrl) };
    const ports = Object.fromEntries(summary.services.map(({ name, port }) => [name, port]));
    const portOf = (name) => (name === 'edge' ? new URL(summary.baseUrl).port : ports[name]);
    const database = fleetDatabase(summary.databaseUrl, secrets.database);
    const env = { ...environmentOf(service, { secrets, stores, database, portOf }), ...changes };
    const file = path.join(fixture.dir, `${service}.env`);
    const names = Object.keys(env).filter((name) => /^[A-Z0-9_]+$/.test(name) && env[name] !== undefined);
    fs.writeFileSync(file, names.map((name) => `${name}='${env[name]}'\n`).join(''));
    return `${service}=${file}`;
  };

  before(async () => {
    const started = await fixture.fleet('up', '--detach');
    assert.equal(started.status, 0, started.stdout + started.stderr);
    summary = await fixture.status();
  });
  after(() => fixture.remove());

  it('finds nothing wrong with a healthy fleet and exits with 0', async () => {
    const { status, ok, findings, checked } = await doctor();
    assert.deepEqual([status, ok, findings], [0, true, []]);
    for (const part of ['configuration', 'PostgreSQL', 'Redis', 'NATS', '5 instances'])
      assert.ok(checked.includes(part), part);
  });

  it('names a role that is exempt from row-level security', async () => {
    await sql('ALTER ROLE rmm_credentials BYPASSRLS');
    await findingOf(/^credentials: DATABASE_URL: rmm_credentials has BYPASSRLS/);
    await sql('ALTER ROLE rmm_credentials NOBYPASSRLS');
  });

  it('names a table whose row-level security is not forced', async () => {
    await sql('ALTER TABLE provisioning.organization NO FORCE ROW LEVEL SECURITY');
    await findingOf(/^provisioning: schema provisioning: organization: row-level security is not forced/);
    await sql('ALTER TABLE provisioning.organization FORCE ROW LEVEL SECURITY');
  });

  it('names a missing migration, and notes one that the build does not know', async () => {
    const { rows } = await sql('SELECT id, name FROM identity.rmm_migration ORDER BY id DESC LIMIT 1');
    await sql(`UPDATE identity.rmm_migration SET name = 'FromTheFuture1999999999999' WHERE id = ${rows[0].id}`);
    const { findings } = await doctor();
    assert.match((await findingOf(/^identity: 1 of \d+ migrations are missing/)).what, new RegExp(rows[0].name));
    const note = findings.find(({ level }) => level === 'note');
    assert.match(note.what, /does not know: FromTheFuture1999999999999/);
    await sql(`UPDATE identity.rmm_migration SET name = '${rows[0].name}' WHERE id = ${rows[0].id}`);
  });

  it('names a login whose password differs', async () => {
    const { rows } = await sql("SELECT rolpassword FROM pg_authid WHERE rolname = 'rmm_provisioning_worker'");
    await sql("ALTER ROLE rmm_provisioning_worker PASSWORD 'another'");
    const { action } = await findingOf(/^provisioning: WORKER_DATABASE_URL: rmm_provisioning_worker cannot use/);
    assert.match(action, /ALTER ROLE/);
    await sql(`ALTER ROLE rmm_provisioning_worker PASSWORD '${rows[0].rolpassword}'`);
  });

  it('names a Redis that evicts keys, and notes that it writes nothing to disk', async () => {
    const redis = new Redis(summary.redisUrl);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.config('SET', 'appendonly', 'no');
    await findingOf(/^Redis: maxmemory-policy is allkeys-lru/);
    const { findings } = await doctor();
    assert.ok(findings.some(({ level, what }) => level === 'note' && what === 'persistence is off'));
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    await redis.config('SET', 'appendonly', 'yes');
    redis.disconnect();
  });

  it('names a service that does not respond', async () => {
    const { pid } = summary.services.find(({ name }) => name === 'webhook-dispatcher');
    process.kill(pid, 'SIGSTOP');
    await findingOf(/^webhook-dispatcher: http:\/\/127\.0\.0\.1:\d+ does not respond/);
    process.kill(pid, 'SIGCONT');
  });

  it('names a missing consumer and a missing stream', async () => {
    await withNats(summary.natsUrl, async (connection) => {
      const { consumers, streams } = await connection.jetstreamManager();
      await consumers.delete('RMM_INTERNAL', 'credentials-internal');
      await streams.delete('RMM_RECORDS');
    });
    await findingOf(/^credentials: the consumer credentials-internal of RMM_INTERNAL cannot be used/);
    await findingOf(/^NATS: the stream RMM_RECORDS is missing/);
    const script = path.resolve(import.meta.dirname, '../../libs/messaging/dist/setup-streams.js');
    execFileSync(process.execPath, [script], { env: { ...process.env, NATS_ADMIN_URL: summary.natsUrl } });
  });

  it('reads a deployment from files, and names malformed variables', async () => {
    assert.equal((await doctor('--env', writeEnv('identity', {}))).status, 0);
    const broken = writeEnv('identity', { ACCESS_TOKEN_TTL_SECONDS: '5', NODE_ENV: 'staging' });
    await findingOf(/^identity: ACCESS_TOKEN_TTL_SECONDS must be 60 to 3600, got "5"/, '--env', broken);
    await findingOf(/^identity: NODE_ENV must be one of/, '--env', broken);
  });

  it('reads the variables of its own process for one service', async () => {
    const [, file] = writeEnv('identity', { ACCESS_TOKEN_TTL_SECONDS: '5' }).split('=');
    const inherited = fixture.env;
    fixture.env = { ...inherited, ...parseEnv(fs.readFileSync(file, 'utf8')) };
    await findingOf(/^identity: ACCESS_TOKEN_TTL_SECONDS must be 60 to 3600/, '--service', 'identity');
    fixture.env = inherited;
  });

  it('names key rings and peppers that differ between services', async () => {
    const other = Buffer.alloc(32, 7).toString('base64');
    const changes = { SECRETS_KEYRING: JSON.stringify({ 'dev-1': other }), ENROLLMENT_KEY_PEPPER: 'x'.repeat(32) };
    const files = ['--env', writeEnv('credentials', {}), '--env', writeEnv('provisioning', changes)];
    await findingOf(/^SECRETS_KEYRING: differs between services \(credentials; provisioning\)/, ...files);
    await findingOf(/^ENROLLMENT_KEY_PEPPER: differs/, ...files);
  });

  it('names instances of different versions, a clock that is wrong and a dependency that is down', async () => {
    const instance = await listen(
      http.createServer((request, response) => {
        response.setHeader('date', new Date(Date.now() - 60_000).toUTCString());
        if (request.url === '/metrics') response.end('rmm_build_info{version="0.9"} 1\n');
        else response.writeHead(503).end('{"status":"unavailable","state":"ready","checks":{"redis":"down"}}');
      }),
    );
    const own = summary.services.find(({ name }) => name === 'identity').port;
    const at = [`http://127.0.0.1:${own}`, `http://127.0.0.1:${instance.port}`].flatMap((url) => [
      '--at',
      `identity=${url}`,
    ]);
    const options = ['--env', writeEnv('identity', {}), ...at];
    await findingOf(/^services: different versions run \(local: .*; 0\.9: /, ...options);
    await findingOf(/^identity at .*: its clock differs by -6[01]\.\d s/, ...options);
    await findingOf(/^identity: .* is not ready: redis is down/, ...options);
    instance.server.close();
  });

  it('names a certificate that expires soon and is not trusted', async () => {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(fixture.dir, name));
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '3', '-keyout', key, '-out', cert, ...subject];
    execFileSync('openssl', ['req', ...options], { stdio: 'ignore' });
    const { server, port } = await listen(
      https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (_, response) =>
        response.end('{}'),
      ),
    );
    const env = writeEnv('identity', { PUBLIC_API_URL: `https://localhost:${port}` });
    await findingOf(/^PUBLIC_API_URL localhost:\d+: its certificate expires on /, '--env', env);
    await findingOf(/^PUBLIC_API_URL localhost:\d+: its certificate is not trusted/, '--env', env);
    await findingOf(/^edge: https:\/\/localhost:\d+\/api\/v1\/config does not respond/, '--env', env);
    server.close();
  });

  it('names stores that cannot be used', async () => {
    const stores = {
      DATABASE_URL: 'postgres://rmm_identity:x@127.0.0.1:1/rmm',
      REDIS_URL: 'redis://:x@127.0.0.1:1',
      NATS_URL: 'nats://identity:x@127.0.0.1:1',
    };
    const env = writeEnv('identity', stores);
    await findingOf(/^identity: DATABASE_URL: rmm_identity cannot use 127\.0\.0\.1:1: .*ECONNREFUSED/, '--env', env);
    await findingOf(/^Redis: 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/, '--env', env);
    await findingOf(/^identity: its login at NATS cannot be used/, '--env', env);
  });

  it('is content again when everything was repaired', async () => {
    const isHealthy = async () => (await doctor()).status === 0;
    assert.ok(await poll(isHealthy, { timeoutMs: 20_000, everyMs: 500 }), JSON.stringify(await doctor()));
  });

  it('prints one line for each finding, with what, why and what to do', async () => {
    await sql('ALTER ROLE rmm_identity BYPASSRLS');
    const { status, stdout } = await fixture.fleet('doctor');
    await sql('ALTER ROLE rmm_identity NOBYPASSRLS');
    assert.equal(status, 1);
    assert.match(stdout, /^✗ identity: DATABASE_URL: .*BYPASSRLS\. Why: .+\. Do: .+\.$/m);
    assert.match(stdout, /\n\d problems?\n$/);
  });

  it('refuses variables without the name of a service, and a service that does not exist', async () => {
    const file = writeEnv('identity', {}).replace('identity=', '');
    assert.match((await fixture.fleet('doctor', '--env', file)).stderr, /Name the services of these variables/);
    assert.match((await fixture.fleet('doctor', '--service', 'billing')).stderr, /Services: identity/);
  });
});
