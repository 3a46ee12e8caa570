import { randomBytes } from 'node:crypto';
import { hashEnrollmentKey, hashKey } from './hashing.js';

/** A fresh credential. `key` leaves the process once and is stored nowhere. */
export interface MintedKey {
  key: string;
  /** The first 12 characters, shown in lists. */
  keyPrefix: string;
  keyHash: Buffer;
}

/** Injected in specs. */
export type RandomSource = (bytes: number) => Buffer;

export const KEY_PREFIX_LENGTH = 12;
export const API_KEY_PREFIX = 'svc_';
export const PARTNER_KEY_PREFIX = 'svc_sp_';
export const AGENT_TOKEN_PREFIX = 'agt_';
export const WEBHOOK_SECRET_PREFIX = 'whsec_';

/**
 * `svc_` and 32 base64url characters. Drawn again when the random part would begin with `sp_`,
 * so that an ordinary key is never taken for a partner key.
 * @see SPEC.md 2.1
 */
export function mintApiKey(random: RandomSource = randomBytes): MintedKey {
  for (;;) {
    const key = API_KEY_PREFIX + random(24).toString('base64url');
    if (!key.startsWith(PARTNER_KEY_PREFIX)) return minted(key);
  }
}

/** `svc_sp_` and 43 base64url characters. @see SPEC.md 2.4 */
export function mintPartnerKey(random: RandomSource = randomBytes): MintedKey {
  return minted(PARTNER_KEY_PREFIX + random(32).toString('base64url'));
}

/** 64 hex characters, hashed with the pepper. @see SPEC.md 2.2 */
export function mintEnrollmentKey(pepper: string, random: RandomSource = randomBytes): MintedKey {
  const key = random(32).toString('hex');
  return { key, keyPrefix: key.slice(0, KEY_PREFIX_LENGTH), keyHash: hashEnrollmentKey(key, pepper) };
}

/** `agt_` and 43 base64url characters. @see CONTRACT.md 4.10.8 */
export function mintAgentToken(random: RandomSource = randomBytes): MintedKey {
  return minted(AGENT_TOKEN_PREFIX + random(32).toString('base64url'));
}

/** Base64url of `bytes` random bytes: 43 characters by default. Refresh tokens, cookies, states. */
export function mintOpaqueToken(bytes = 32, random: RandomSource = randomBytes): MintedKey {
  return minted(random(bytes).toString('base64url'));
}

/** A token for a link in a mail: `length` base64url characters. */
export function mintLinkToken(length = 48, random: RandomSource = randomBytes): MintedKey {
  return minted(
    random(Math.ceil((length * 3) / 4))
      .toString('base64url')
      .slice(0, length),
  );
}

/**
 * A webhook signing secret: `whsec_` and 43 base64url characters. Sealed at rest, so it has no hash.
 * Drawn again when it would hold `-` or `_` (two bits less than 256), so that it is base64 as well: verifiers of
 * Standard Webhooks read what follows `whsec_` as that.
 */
export function mintWebhookSecret(random: RandomSource = randomBytes): string {
  for (;;) {
    const secret = random(32).toString('base64url');
    if (!/[-_]/.test(secret)) return WEBHOOK_SECRET_PREFIX + secret;
  }
}

const minted = (key: string): MintedKey => ({
  key,
  keyPrefix: key.slice(0, KEY_PREFIX_LENGTH),
  keyHash: hashKey(key),
});
