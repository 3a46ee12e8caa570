// ./fleet bench login: logins per second against those of Express with a select, Argon2id of the same parameters and a session insert; the
// effect of many logins on other callers; sign-ins with a passkey alone and exchanges of single sign-on against a signature and a session insert.
import autocannon from 'autocannon';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores, lib } from '../support/built-code.mjs';
import { addPartner, identityEnvironment, createStreams, PASSWORD, signIn } from '../support/identity-data.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const ROUNDS = isQuick ? 1 : 5;
const SECONDS = isQuick ? 1 : 3;
const CALLERS = 8;
const USERS = 40;
const READS_PER_SECOND = 50;
const CODES_PER_SECOND = 1_500;
const PASSKEY_USERS = 16;
/** Passwords whose estimate takes zxcvbn longest: repeated patterns with replaced characters, dates, digits. */
const HOSTILE = ['P@$$w0rd'.repeat(16), '1991-12-20'.repeat(12), 'p4$$w0rd1!'.repeat(12), '4'.repeat(128)];

const { stores, database, schema, nats, env } = await benchStores('identity');
await createStreams(nats.adminUrl);
const pg = createRequire(import.meta.url)('pg');
const { mintLinkToken } = await lib('secrets');
const { SoftwareAuthenticator } = await lib('testing', 'software-authenticator.js');
const cores = availableParallelism();
const ours = new BenchServer('identity-service.mjs', {
  env: { ...identityEnvironment(env), UV_THREADPOOL_SIZE: String(cores + 4) },
});
const floor = new BenchServer('argon2-baseline.mjs', { env: { UV_THREADPOOL_SIZE: String(cores) } });
const sessionFloor = new BenchServer('session-baseline.mjs', {
  env: { BASELINE_DATABASE_URL: database.adminUrl, BASELINE_SCHEMA: schema, UV_THREADPOOL_SIZE: String(cores) },
});
const client = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });

try {
  await Promise.all([ours.ready(), floor.ready(), sessionFloor.ready(), client.connect()]);
  const { email } = await addPartner(database.adminUrl, schema, 'login', USERS);
  const token = await signIn(ours.port, email(1));
  await flood(ours, email, 1);
  await flood(sessionFloor, email, 1);
  await raw(1);
  const passkeys = await registerPasskeys();
  await signInByPasskey(passkeys, 1);
  const sso = await addProvider();
  await exchangeCodes(sso, 1);
  await insertSessions(sso, 1);
  await scoreHostilePasswords(); // loads the word lists
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const hashes = await raw(SECONDS);
    const floorLogins = await flood(sessionFloor, email, SECONDS);
    const logins = await flood(ours, email, SECONDS);
    const quietMs = await readAlone(token);
    await ours.ask('delay');
    const [, busyMs] = await Promise.all([flood(ours, email, SECONDS), read(token, SECONDS)]);
    const { p99Ms: delayMs } = await ours.ask('delay');
    const scoringMs = await scoreHostilePasswords();
    const passkeyLogins = await signInByPasskey(passkeys, SECONDS);
    const exchanges = await exchangeCodes(sso, SECONDS);
    const sessions = await insertSessions(sso, SECONDS);
    rounds.push({
      hashes,
      floorLogins,
      logins,
      quietMs,
      busyMs,
      delayMs,
      scoringMs,
      passkeyLogins,
      exchanges,
      sessions,
    });
  }
  print(rounds);
} finally {
  await client.end();
  await Promise.all([ours.stop(), floor.stop(), sessionFloor.stop()]);
  await stores.stop();
}

async function raw(seconds) {
  floor.child.send({ verify: { callers: CALLERS, seconds } });
  const [message] = await new Promise((resolve) => floor.child.once('message', (response) => resolve([response])));
  return message.perSecond;
}

/** Measures logins with as many callers in flight; every response must be 200. @returns logins per second */
async function flood({ port }, email, seconds) {
  const requests = Array.from({ length: USERS - 1 }, (_, i) => ({
    method: 'POST',
    path: '/api/v1/auth/login',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: email(i + 2), password: PASSWORD }),
  }));
  const url = `http://127.0.0.1:${port}`;
  const result = await autocannon({ url, connections: CALLERS, duration: seconds, requests });
  if (result.non2xx || result.errors) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}

/** @returns authenticators in software, each with the passkey of one user */
async function registerPasskeys() {
  const { email } = await addPartner(database.adminUrl, schema, 'passkey', PASSKEY_USERS);
  const authenticators = [];
  for (let n = 1; n <= PASSKEY_USERS; n++) {
    const { tokens } = await post('/auth/login', { email: email(n), password: PASSWORD });
    const authenticator = new SoftwareAuthenticator('http://localhost:8080');
    const start = { currentPassword: PASSWORD };
    const { options } = await post('/auth/passkeys/register/options', start, tokens.accessToken);
    await post('/auth/passkeys/register/verify', { credential: authenticator.create(options) }, tokens.accessToken);
    authenticators.push(authenticator);
  }
  return authenticators;
}

/** Measures sign-ins with a passkey, of options and response, with as many callers in flight. @returns sign-ins per second */
async function signInByPasskey(passkeys, seconds) {
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let count = 0;
  const caller = async (n) => {
    for (let index = n; performance.now() < endsAt; index += CALLERS) {
      const { options } = await post('/auth/passkeys/login/options', {});
      await post('/auth/passkeys/login/verify', { credential: passkeys[index % passkeys.length].get(options) });
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)));
  return (count * 1000) / (performance.now() - startedAt);
}

/** Adds an active identity provider of a partner and its linked members. */
async function addProvider() {
  const { partnerId } = await addPartner(database.adminUrl, schema, 'sso', USERS);
  const providerId = randomUUID();
  await client.query(
    `insert into sso_provider (id, partner_id, name, type, status, issuer) values ($1, $2, 'Bench', 'oidc', 'active', $3)`,
    [providerId, partnerId, 'https://idp.bench.test'],
  );
  const { rows } = await client.query('select user_id from partner_membership where partner_id = $1', [partnerId]);
  return { providerId, userIds: rows.map((row) => row.user_id) };
}

/**
 * Measures exchanges of codes, which callbacks would have stored: the calls of the provider are not part of it.
 * @returns exchanges per second
 */
async function exchangeCodes({ providerId, userIds }, seconds) {
  const codes = Array.from({ length: CODES_PER_SECOND * seconds }, () => mintLinkToken(48));
  await client.query(
    `insert into sso_code (code_hash, browser_hash, provider_id, config_version, user_id, auth_epoch, idp_mfa, expires_at)
     select c.hash, c.hash, $1, p.config_version, u.id, u.auth_epoch, false, now() + interval '2 minutes'
     from unnest($2::bytea[], $3::uuid[]) c (hash, user_id)
       join sso_provider p on p.id = $1 join user_account u on u.id = c.user_id`,
    [providerId, codes.map(({ keyHash }) => keyHash), codes.map((_, n) => userIds[n % userIds.length])],
  );
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let count = 0;
  const caller = async () => {
    for (let code = codes.pop(); code && performance.now() < endsAt; code = codes.pop()) {
      await post('/sso/exchange', { code: code.key });
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const elapsed = performance.now() - startedAt;
  await client.query('delete from sso_code');
  if (elapsed < seconds * 1000) throw new Error('all codes were exchanged before the end: raise CODES_PER_SECOND');
  return (count * 1000) / elapsed;
}

/** Measures the floor of both: a signature verified and a session inserted. @returns sessions per second */
async function insertSessions({ userIds }, seconds) {
  const { perSecond } = await sessionFloor.send({ sessions: { callers: CALLERS, seconds, userIds } });
  return perSecond;
}

async function post(path, body, token) {
  const response = await fetch(`http://127.0.0.1:${ours.port}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Chooses 20 hostile passwords at the same time. @returns the longest delay of the event loop meanwhile, in ms */
async function scoreHostilePasswords() {
  await ours.ask('delay');
  const url = `http://127.0.0.1:${ours.port}/api/v1/auth/register`;
  const choose = async (password, n) => {
    const body = JSON.stringify({ email: `hostile-${n}@bench.test`, password, name: 'Hostile' });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await response.arrayBuffer();
    if (![200, 400].includes(response.status)) throw new Error(`${url}: ${response.status}`);
  };
  await Promise.all(Array.from({ length: 20 }, (_, n) => choose(HOSTILE[n % HOSTILE.length], n)));
  return (await ours.ask('delay')).maxMs;
}

async function readAlone(token) {
  await sleep(300);
  return read(token, 2);
}

/** Sends authenticated requests at a steady rate. @returns p99 in ms */
async function read(token, seconds) {
  const times = [];
  const pending = [];
  const url = `http://127.0.0.1:${ours.port}/api/v1/permissions/catalog`;
  const call = async () => {
    const startedAt = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
    times.push(performance.now() - startedAt);
  };
  for (let i = 0; i < seconds * READS_PER_SECOND; i++) {
    pending.push(call());
    await sleep(1000 / READS_PER_SECOND);
  }
  await Promise.all(pending);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)];
}

function print(rounds) {
  const medianOf = (key) => median(rounds.map((round) => round[key]));
  const quiet = medianOf('quietMs');
  report(
    {
      name: 'login',
      arms: [
        { arm: `raw Argon2id, ${CALLERS} callers`, 'per second': medianOf('hashes'), 'p99 ms': '' },
        { arm: `logins of the baseline, ${CALLERS} callers`, 'per second': medianOf('floorLogins'), 'p99 ms': '' },
        { arm: `logins, ${CALLERS} callers`, 'per second': medianOf('logins'), 'p99 ms': '' },
        { arm: `sign-ins with a passkey, ${CALLERS} callers`, 'per second': medianOf('passkeyLogins'), 'p99 ms': '' },
        { arm: `exchanges of single sign-on, ${CALLERS} callers`, 'per second': medianOf('exchanges'), 'p99 ms': '' },
        { arm: `signature and session insert, ${CALLERS} callers`, 'per second': medianOf('sessions'), 'p99 ms': '' },
        { arm: 'signed-in request, quiet', 'per second': READS_PER_SECOND, 'p99 ms': quiet },
        { arm: 'signed-in request, under the flood', 'per second': READS_PER_SECOND, 'p99 ms': medianOf('busyMs') },
        { arm: 'event loop delay, under the flood', 'per second': '', 'p99 ms': medianOf('delayMs') },
        { arm: 'event loop delay, longest, 20 hostile passwords', 'per second': '', 'p99 ms': medianOf('scoringMs') },
      ],
      targets: [
        target('logins against the baseline', median(rounds.map((r) => r.logins / r.floorLogins)), '>=', 0.85),
        target(
          'sign-ins with a passkey against logins',
          median(rounds.map((r) => r.passkeyLogins / r.logins)),
          '>=',
          1,
        ),
        target(
          'sign-ins with a passkey against signature and session insert',
          median(rounds.map((r) => r.passkeyLogins / r.sessions)),
          '>=',
          0.1,
        ),
        target(
          'exchanges of single sign-on against signature and session insert',
          median(rounds.map((r) => r.exchanges / r.sessions)),
          '>=',
          0.2,
        ),
        target('signed-in p99 under the flood, ms', medianOf('busyMs'), '<=', Math.max(2 * quiet, 25)),
        target('event loop delay p99, ms', medianOf('delayMs'), '<=', 10),
        target('longest event loop delay under hostile passwords, ms', medianOf('scoringMs'), '<=', 20),
      ],
      notes: ['The generator, PostgreSQL, Redis and NATS share the cores with the service.'],
    },
    process.argv,
  );
}
