import { randomBytes } from 'node:crypto';
import { hashEnrollmentKey, hashKey } from './hashing.js';

/** A new credential. `key` is returned to the client once and never stored. */
export interface MintedKey {
  key: string;
  /** The first 12 characters, shown in lists. */
  keyPrefix: string;
  keyHash: Buffer;
}

/** Returns random bytes; replaced in specs. */
export type RandomSource = (bytes: number) => Buffer;

export const KEY_PREFIX_LENGTH = 12;
export const API_KEY_PREFIX = 'svc_';
export const PARTNER_KEY_PREFIX = 'svc_sp_';
export const AGENT_TOKEN_PREFIX = 'agt_';
export const SCIM_TOKEN_PREFIX = 'scim_';
export const WEBHOOK_SECRET_PREFIX = 'whsec_';

/**
 * Mints an API key: `svc_` and 32 base64url characters. Repeats when the random part begins with `sp_`, because the key
 * would have the prefix of a partner key.
 */
export function mintApiKey(random: RandomSource = randomBytes): MintedKey {
  for (;;) {
    const key = API_KEY_PREFIX + random(24).toString('base64url');
    if (!key.startsWith(PARTNER_KEY_PREFIX)) return toMintedKey(key);
  }
}

/** Mints a partner key: `svc_sp_` and 43 base64url characters. */
export function mintPartnerKey(random: RandomSource = randomBytes): MintedKey {
  return toMintedKey(PARTNER_KEY_PREFIX + random(32).toString('base64url'));
}

/** Mints an enrollment key: 64 hex characters, hashed with the pepper. */
export function mintEnrollmentKey(pepper: string, random: RandomSource = randomBytes): MintedKey {
  const key = random(32).toString('hex');
  return { key, keyPrefix: key.slice(0, KEY_PREFIX_LENGTH), keyHash: hashEnrollmentKey(key, pepper) };
}

/** Mints an agent token: `agt_` and 43 base64url characters. */
export function mintAgentToken(random: RandomSource = randomBytes): MintedKey {
  return toMintedKey(AGENT_TOKEN_PREFIX + random(32).toString('base64url'));
}

/** Mints the token of a SCIM client: `scim_` and 43 base64url characters. */
export function mintScimToken(random: RandomSource = randomBytes): MintedKey {
  return toMintedKey(SCIM_TOKEN_PREFIX + random(32).toString('base64url'));
}

/** Mints a token for refresh tokens, cookies and states: base64url of `bytes` random bytes, by default 43 characters. */
export function mintOpaqueToken(bytes = 32, random: RandomSource = randomBytes): MintedKey {
  return toMintedKey(random(bytes).toString('base64url'));
}

/** Mints a token for a link in a mail: `length` base64url characters. */
export function mintLinkToken(length = 48, random: RandomSource = randomBytes): MintedKey {
  return toMintedKey(
    random(Math.ceil((length * 3) / 4))
      .toString('base64url')
      .slice(0, length),
  );
}

/**
 * Mints a webhook signing secret: `whsec_` and 43 base64url characters. It is sealed at rest and has no hash. Repeats
 * when it contains `-` or `_` (which costs two of 256 bits), because verifiers of Standard Webhooks decode the text after
 * `whsec_` as base64.
 */
export function mintWebhookSecret(random: RandomSource = randomBytes): string {
  for (;;) {
    const secret = random(32).toString('base64url');
    if (!/[-_]/.test(secret)) return WEBHOOK_SECRET_PREFIX + secret;
  }
}

const toMintedKey = (key: string): MintedKey => ({
  key,
  keyPrefix: key.slice(0, KEY_PREFIX_LENGTH),
  keyHash: hashKey(key),
});
