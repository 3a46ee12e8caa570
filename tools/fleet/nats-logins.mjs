import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../paths.mjs';
import { serviceNames } from './services.mjs';

const PERMISSIONS = path.join(ROOT, 'deploy/nats/permissions.json');
const ADMIN = 'fleet';

/**
 * The block of the NATS configuration that gives each service a login limited to its subjects, and the launcher one
 * without limits.
 * @param {Record<string, string>} passwords  by service
 * @param {string} adminPassword
 */
export function authorizationFor(passwords, adminPassword) {
  const { users } = JSON.parse(fs.readFileSync(PERMISSIONS, 'utf8'));
  const logins = serviceNames.map((user) => ({ user, password: passwords[user], permissions: users[user] }));
  return `authorization { users: ${JSON.stringify([{ user: ADMIN, password: adminPassword }, ...logins])} }`;
}

/** The address of NATS for each service. A server of the developer's own has no logins of ours. */
export function natsUrls({ url, isPrivate }, passwords) {
  return Object.fromEntries(
    serviceNames.map((name) => [name, isPrivate ? withLogin(url, name, passwords[name]) : url]),
  );
}

function withLogin(url, username, password) {
  return String(Object.assign(new URL(url), { username, password }));
}

/** The clients do not read a login out of the address, so it is taken out here. */
export function natsOptions(address) {
  const url = new URL(address);
  const login = url.username ? { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } : {};
  return { servers: `${url.hostname}:${url.port || 4222}`, ...login };
}
