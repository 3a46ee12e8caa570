import { Failure } from '../failure.mjs';
import { postgresClient } from '../stores/probe-postgres.mjs';
import { belongsToAnother } from './claim.mjs';
import { SERVICES } from './services.mjs';

export const DATABASE = 'rmm_fleet';
/**
 * Written on what we create. Without it, something of the same name is somebody else's and stays untouched. On the
 * database the fleet that made it is added: the secrets its data are sealed with are kept in that fleet's folder.
 */
const MARK = 'made by the rmm fleet launcher';
const markOf = ({ id, dir }) => `${MARK}: fleet ${id} of ${dir}`;
const isMadeBy = (mark, { id }) => mark === MARK || Boolean(mark?.startsWith(`${MARK}: fleet ${id} `));

/** The three logins of a service: owner for migrations, service, worker for work across tenants. */
const loginsOf = (schema) => ({
  owner: `rmm_${schema}_owner`,
  service: `rmm_${schema}`,
  worker: `rmm_${schema}_worker`,
});
const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const literal = (text) => `'${text.replaceAll("'", "''")}'`;

/**
 * Creates the database, the logins and the schemas that are missing, and sets the passwords.
 * @param {string} adminUrl  a login that may create databases and roles
 * @param {Record<string, string>} passwords  by `<schema>.<owner|service|worker>`
 * @param {{ id: string, dir: string }} fleet  whose database it is
 * @returns {Promise<{ url: string, urls: Record<string, { owner: string, service: string, worker: string }> }>}
 */
export async function prepareDatabase(adminUrl, passwords, fleet) {
  await withClient(adminUrl, async (client) => {
    await createDatabase(client, fleet);
    await createLogins(client, passwords);
  });
  const url = urlOf(adminUrl);
  await withClient(url, createSchemas);
  return { url, urls: serviceUrls(adminUrl, passwords) };
}

/** Drops what carries the mark of this fleet, and nothing else. */
export async function dropDatabase(adminUrl, fleet) {
  await withClient(adminUrl, async (client) => {
    const marked = await markOfDatabase(client);
    if (marked !== undefined && !isMadeBy(marked, fleet)) return; // then the logins are not ours either
    if (marked !== undefined) await client.query(`drop database ${quoted(DATABASE)} with (force)`);
    for (const [name, mark] of await marksOfLogins(client)) {
      if (mark === MARK) await client.query(`drop role ${quoted(name)}`);
    }
  });
}

async function withClient(url, work) {
  const client = postgresClient(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createDatabase(client, fleet) {
  const mark = await markOfDatabase(client);
  if (mark === undefined) await client.query(`create database ${quoted(DATABASE)} encoding 'UTF8' template template0`);
  if (mark === undefined || isMadeBy(mark, fleet)) {
    await client.query(`comment on database ${quoted(DATABASE)} is ${literal(markOf(fleet))}`);
  } else if (mark?.startsWith(MARK)) {
    throw belongsToAnother(`The database "${DATABASE}"`, mark.slice(MARK.length + 2));
  } else {
    throw new Failure(
      `There is a database "${DATABASE}" that this launcher did not make; it stays untouched.\n       Rename it, or start with FLEET_PRIVATE=1.`,
    );
  }
}

/** undefined: there is no such database. */
async function markOfDatabase(client) {
  const sql = `select shobj_description(oid, 'pg_database') as mark from pg_database where datname = $1`;
  return (await client.query(sql, [DATABASE])).rows[0]?.mark;
}

async function marksOfLogins(client) {
  const names = SERVICES.flatMap(({ schema }) => Object.values(loginsOf(schema)));
  const sql = `select rolname as name, shobj_description(oid, 'pg_authid') as mark from pg_roles where rolname = any($1)`;
  const { rows } = await client.query(sql, [names]);
  return new Map(rows.map(({ name, mark }) => [name, mark]));
}

async function createLogins(client, passwords) {
  const existing = await marksOfLogins(client);
  const foreign = [...existing].find(([, mark]) => mark !== MARK);
  if (foreign)
    throw new Failure(
      `There is a role "${foreign[0]}" that this launcher did not make; it stays untouched.\n       Rename it, or start with FLEET_PRIVATE=1.`,
    );

  const statements = SERVICES.flatMap(({ schema }) =>
    Object.entries(loginsOf(schema)).flatMap(([role, name]) => {
      const rights = `login nosuperuser nobypassrls nocreatedb nocreaterole password ${literal(passwords[`${schema}.${role}`])}`;
      if (existing.has(name)) return [`alter role ${quoted(name)} with ${rights}`];
      return [`create role ${quoted(name)} with ${rights}`, `comment on role ${quoted(name)} is ${literal(MARK)}`];
    }),
  );
  await client.query(statements.join(';\n'));
}

async function createSchemas(client) {
  const statements = [
    `revoke create on schema public from public`,
    `revoke connect on database ${quoted(DATABASE)} from public`,
  ];
  for (const { schema } of SERVICES) {
    const { owner, service, worker } = loginsOf(schema);
    statements.push(
      `grant connect on database ${quoted(DATABASE)} to ${[owner, service, worker].map(quoted).join(', ')}`,
      `grant ${quoted(owner)} to current_user`, // a login that is no superuser may hand a schema over only to a role it is in
      `create schema if not exists ${quoted(schema)} authorization ${quoted(owner)}`,
      `grant usage on schema ${quoted(schema)} to ${quoted(service)}, ${quoted(worker)}`,
    );
  }
  await client.query(statements.join(';\n'));
}

function serviceUrls(adminUrl, passwords) {
  return Object.fromEntries(
    SERVICES.map(({ name, schema }) => {
      const logins = Object.entries(loginsOf(schema));
      const urls = logins.map(([role, login]) => [role, urlOf(adminUrl, login, passwords[`${schema}.${role}`])]);
      return [name, Object.fromEntries(urls)];
    }),
  );
}

/** The same server, our database, perhaps another login. */
function urlOf(adminUrl, login, password) {
  const url = new URL(adminUrl);
  url.pathname = `/${DATABASE}`;
  if (login) Object.assign(url, { username: login, password });
  return String(url);
}
