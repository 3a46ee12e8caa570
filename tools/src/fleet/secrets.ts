import { randomBytes } from 'node:crypto';
import { readJson, SECRETS_FILE, writeAtomically } from '../paths.js';
import { SERVICES } from './services.js';

export interface FleetSecrets {
  adminEmail: string;
  adminPassword: string;
  keyId: string;
  key: string;
  enrollmentPepper: string;
  recoveryCodePepper: string;
  cursorKey: string;
  /** Passwords by `<schema>.<owner|service|worker>`. */
  database: Record<string, string>;
  /** Passwords by service. */
  nats: Record<string, string>;
}

/**
 * Returns the random secrets of this fleet. They are created at the first start and kept, like the data they protect.
 * @throws FleetError when the file is damaged
 */
export function loadSecrets(): FleetSecrets {
  const kept = readJson<FleetSecrets>(SECRETS_FILE);
  if (kept) return kept;
  const created = createSecrets();
  writeAtomically(SECRETS_FILE, JSON.stringify(created, null, 2));
  return created;
}

function createSecrets(): FleetSecrets {
  const token = (bytes = 18) => randomBytes(bytes).toString('base64url');
  const logins = SERVICES.flatMap(({ schema }) => ['owner', 'service', 'worker'].map((role) => `${schema}.${role}`));
  return {
    adminEmail: process.env['BOOTSTRAP_ADMIN_EMAIL'] || 'admin@fleet.test',
    adminPassword: process.env['BOOTSTRAP_ADMIN_PASSWORD'] || `${token(12)}-Aa1`,
    keyId: 'dev-1',
    key: randomBytes(32).toString('base64'),
    enrollmentPepper: token(32),
    recoveryCodePepper: token(32),
    cursorKey: token(32),
    database: Object.fromEntries(logins.map((login) => [login, token()])),
    nats: Object.fromEntries(SERVICES.map(({ name }) => [name, token()])),
  };
}
