// The baselines of sign-ins in `bench login`, each of which inserts a session with its refresh token in one transaction: a password by
// Express, a select and Argon2id; passkeys and single sign-on by a signature that is verified, with as many callers in flight, without HTTP.
import express from 'express';
import { generateKeyPairSync, randomBytes, randomUUID, sign, verify } from 'node:crypto';
import { createRequire } from 'node:module';
import { announce } from '../support/bench-server.mjs';

const require = createRequire(import.meta.url);
const [pg, argon2] = [require('pg'), require('argon2')];
const { BASELINE_DATABASE_URL: connectionString, BASELINE_SCHEMA: schema } = process.env;
const pool = new pg.Pool({ connectionString, options: `-c search_path=${schema}`, max: 8 });

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const signed = randomBytes(69); // as long as authenticator data and the hash of the client data
const signature = sign('sha256', signed, privateKey);

const FAMILY = `insert into session_family (id, user_id, scope, partner_id, mfa, method, auth_epoch, mfa_epoch, absolute_expires_at)
  select $1, m.user_id, 'partner', m.partner_id, true, 'passkey', 0, 0, now() + interval '30 days' from partner_membership m
  where m.user_id = $2 limit 1`;
const TOKEN = `insert into refresh_token (family_id, user_id, token_hash, expires_at) values ($1, $2, $3, now() + interval '7 days')`;

const USER = 'select id, password_hash as "passwordHash" from user_account where email = $1';

async function logIn({ body: { email, password } }, response) {
  const { rows } = await pool.query({ name: 'user', text: USER, values: [email] });
  if (!(await argon2.verify(rows[0].passwordHash, password))) throw new Error('the password is wrong');
  await insertSession(rows[0].id);
  response.json({ userId: rows[0].id });
}

async function createSession(userId) {
  if (!verify('sha256', signed, publicKey, signature)) throw new Error('the signature does not verify');
  await insertSession(userId);
}

async function insertSession(userId) {
  const client = await pool.connect();
  try {
    const id = randomUUID();
    await client.query('begin');
    await client.query({ name: 'family', text: FAMILY, values: [id, userId] });
    await client.query({ name: 'token', text: TOKEN, values: [id, userId, randomBytes(32)] });
    await client.query('commit');
  } finally {
    client.release();
  }
}

process.on('message', async (message) => {
  if (message?.sessions === undefined) return;
  const { callers, seconds, userIds } = message.sessions;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let count = 0;
  const caller = async (n) => {
    for (let index = n; performance.now() < until; index += callers) {
      await createSession(userIds[index % userIds.length]);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, n) => caller(n)));
  process.send({ perSecond: count / ((performance.now() - startedAt) / 1000) });
});
const app = express().disable('x-powered-by').disable('etag').use(express.json());
app.post('/api/v1/auth/login', logIn);
const server = app.listen(0, '127.0.0.1', () => announce(server.address().port));
