import { hkdfSync } from 'node:crypto';
import type { ConfigReader } from '@rmm/config';
import { developmentKeyRing } from './development-key-ring.js';
import type { KeyRingKeys } from './key-ring.js';

export interface SecretsConfig {
  keyRing: KeyRingKeys;
}

const KEY_BYTES = 32;
const KID = /^[A-Za-z0-9_-]{1,64}$/;
const CANONICAL_KEY_TEXT = /^[A-Za-z0-9+/_-]{43}=?$/;
/** Beginning of the key in docker-compose.yml, which is public. */
const DEVELOPMENT_KEY = 'development-only';
/** Key id of `SECRET_ENCRYPTION_KEY`. */
const SINGLE_KEY_KID = 'default';

/**
 * Reads `SECRETS_KEYRING`, `SECRETS_ACTIVE_KID` and `SECRET_ENCRYPTION_KEY`, and reports problems to the reader.
 * The single key stays in the ring in addition to `SECRETS_KEYRING`, so that moving from one to the other needs no
 * downtime. Outside production a missing ring is created and stored under `.data`.
 */
export function readSecretsConfig(v: ConfigReader): SecretsConfig {
  const nodeEnv = v.string('NODE_ENV', { default: 'development' });
  const ring = v.json<Record<string, string>>('SECRETS_KEYRING', { check: ringProblem });
  const single = v.string('SECRET_ENCRYPTION_KEY', { minLength: 32, secret: true });
  if (nodeEnv === 'production' && single?.startsWith(DEVELOPMENT_KEY)) {
    v.problem('SECRET_ENCRYPTION_KEY must not be the key of development in production');
  }
  const activeKid = v.string('SECRETS_ACTIVE_KID');
  const keys: Record<string, Buffer> = {};
  if (single !== undefined) keys[SINGLE_KEY_KID] = deriveKey(single);
  for (const [kid, text] of Object.entries(ring ?? {})) keys[kid] = Buffer.from(text, 'base64');

  // The problem of a ring that did not parse is reported already; another key would hide it.
  if (v.has('SECRETS_KEYRING') && ring === undefined) return { keyRing: { keys, activeKid: '' } };
  const kids = Object.keys(keys);
  if (kids.length === 0) {
    if (nodeEnv !== 'production' && !v.has('SECRET_ENCRYPTION_KEY')) return { keyRing: developmentKeyRing(nodeEnv) };
    v.problem('SECRETS_KEYRING or SECRET_ENCRYPTION_KEY is required in production');
    return { keyRing: { keys, activeKid: '' } };
  }
  return { keyRing: { keys, activeKid: chooseActive(v, activeKid, ring ? Object.keys(ring) : kids, kids) } };
}

function chooseActive(v: ConfigReader, named: string | undefined, candidates: string[], kids: string[]): string {
  const [only] = candidates;
  const chosen = named ?? (candidates.length === 1 ? only : undefined);
  if (chosen !== undefined && kids.includes(chosen)) return chosen;
  v.problem(
    chosen === undefined
      ? 'SECRETS_ACTIVE_KID must name one of the keys of SECRETS_KEYRING'
      : `SECRETS_ACTIVE_KID "${chosen}" is not in SECRETS_KEYRING`,
  );
  return '';
}

function ringProblem(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'must be a JSON object of key ids and base64 keys';
  }
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length === 0) return 'must contain at least one key';
  for (const [kid, text] of entries) {
    if (!KID.test(kid)) return 'must have key ids of 1 to 64 letters, digits, "_" or "-"';
    const isKey = typeof text === 'string' && CANONICAL_KEY_TEXT.test(text);
    if (!isKey || Buffer.from(text, 'base64').length !== KEY_BYTES)
      return `must have 32 bytes in base64 under "${kid}"`;
  }
  return null;
}

const deriveKey = (text: string) =>
  Buffer.from(hkdfSync('sha256', Buffer.from(text, 'utf8'), Buffer.alloc(0), 'rmm sealing', KEY_BYTES));
