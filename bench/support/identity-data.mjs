import { createRequire } from 'node:module';
import { lib } from './built-code.mjs';

const pg = createRequire(import.meta.url)('pg');
const argon2 = createRequire(import.meta.url)('argon2');

export const PASSWORD = 'correct-horse-battery-7';

/** The default parameters of identity. */
export const ARGON2 = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Returns the environment of identity: switches of development, password hashing of production. */
export const identityEnvironment = (env) => ({
  ...env,
  PORT: '0',
  RATE_LIMITS_ENABLED: 'false',
  TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
  PUBLIC_API_URL: 'http://localhost:8080',
  PUBLIC_APP_URL: 'http://localhost:8080',
  SECRET_ENCRYPTION_KEY: 'a sealing key for benchmarks, long enough',
});

/** Creates the streams, as the launcher does. */
export async function createStreams(natsUrl) {
  const { ensureStreams, natsOptions } = await lib('messaging');
  const { connect } = createRequire(import.meta.url)('nats');
  const connection = await connect(natsOptions(natsUrl, 'bench'));
  await ensureStreams(connection);
  await connection.close();
}

/** Inserts a partner with an administrator and further members; they share one password hash. */
export async function addPartner(adminUrl, schema, name, members) {
  const passwordHash = await argon2.hash(PASSWORD, ARGON2);
  const client = new pg.Client({ connectionString: adminUrl, options: `-c search_path=${schema}` });
  await client.connect();
  const { rows } = await client.query(
    `insert into partner (name, slug) values ($1, $1 || '-' || gen_random_uuid()) returning id`,
    [name],
  );
  const partnerId = rows[0].id;
  await client.query(
    `with members as (
       insert into user_account (email, name, status, password_hash, email_verified_at)
       select $2 || '-' || n || '@bench.test', 'Member ' || n, 'active', $3, now() from generate_series(1, $4::integer) n
       returning id, email
     )
     insert into partner_membership (partner_id, user_id, role_id, org_access, created_at)
     select $1, p.id, (select id from role where partner_id is null and system_key = case
         when p.email = $2 || '-1@bench.test' then 'partner_admin' else 'partner_viewer' end), 'all',
       now() - make_interval(secs => row_number() over ())
     from members p`,
    [partnerId, name, passwordHash, members],
  );
  await client.query('analyze');
  await client.end();
  return { partnerId, email: (n) => `${name}-${n}@bench.test`, passwordHash };
}

/** @returns an access token */
export async function signIn(port, email) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  const body = await response.json();
  if (response.status !== 200) throw new Error(`login: ${response.status} ${JSON.stringify(body)}`);
  return body.tokens.accessToken;
}
