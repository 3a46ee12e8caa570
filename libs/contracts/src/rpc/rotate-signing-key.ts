import type { RpcContract } from './rpc-contract.js';

export interface RotateSigningKeyReply {
  /** The new key. */
  kid: string;
  /** The key that signs until then. */
  replaces: string;
  /** From then on the new key signs; it is published at once. ISO 8601. */
  signsFrom: string;
}

/**
 * An operator wants access tokens signed with a new key. No service's own login may ask.
 * Refusal: 409 `signing_keys_configured` where the keys come from JWT_SIGNING_KEYRING.
 */
export const ROTATE_SIGNING_KEY: RpcContract<Record<string, never>, RotateSigningKeyReply> = {
  subject: 'rmm.operations.identity.rotate-signing-key',
  timeoutMs: 10_000,
};
