import { randomBytes } from 'node:crypto';
import { readJson, writeAtomically } from '../paths.mjs';
import { SECRETS_FILE } from './layout.mjs';
import { SERVICES } from './services.mjs';

const ROLES = ['owner', 'service', 'worker'];
const token = (bytes = 18) => randomBytes(bytes).toString('base64url');

/**
 * The random secrets of this fleet, made at the first start and kept, since the data they protect is kept too.
 * @returns {{ fleetId: string, adminEmail: string, adminPassword: string, keyId: string, key: string, enrollmentPepper: string,
 *   recoveryCodePepper: string, cursorKey: string, database: Record<string, string>, nats: Record<string, string> }}
 */
export function keptSecrets() {
  const kept = readJson(SECRETS_FILE, {});
  const secrets = { ...fresh(), ...kept };
  for (const part of ['database', 'nats']) secrets[part] = { ...fresh()[part], ...kept[part] };
  if (JSON.stringify(secrets) !== JSON.stringify(kept))
    writeAtomically(SECRETS_FILE, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}

function fresh() {
  const logins = SERVICES.flatMap(({ schema }) => ROLES.map((role) => [`${schema}.${role}`, token()]));
  return {
    fleetId: token(6),
    adminEmail: process.env.BOOTSTRAP_ADMIN_EMAIL || 'admin@fleet.test',
    adminPassword: process.env.BOOTSTRAP_ADMIN_PASSWORD || `${token(12)}-Aa1`,
    keyId: 'dev-1',
    key: randomBytes(32).toString('base64'),
    enrollmentPepper: token(32),
    recoveryCodePepper: token(32),
    cursorKey: token(32),
    database: Object.fromEntries(logins),
    nats: Object.fromEntries(SERVICES.map(({ name }) => [name, token()])),
  };
}
