import { z } from 'zod';
import type { ServiceName } from '../services.js';
import { operation, replyOf, type RpcReply, type RpcRequest } from './rpc-contract.js';

/** Handles the dead letters of a service again, oldest first, once their cause is repaired. */
export const replayDeadLetters = (service: ServiceName) =>
  operation(`${service}.replay-dead-letters`, {
    request: z.object({
      /** Only those of this durable consumer. */
      consumer: z.string().max(128).optional(),
      /** 1,000 by default. */
      limit: z.int().min(1).max(1_000_000).optional(),
    }),
    /** `left` counts the remaining dead letters, the failed ones included. */
    reply: replyOf<{ replayed: number; failed: number; left: number }>(),
    timeoutMs: 60_000,
  });
type ReplayDeadLetters = ReturnType<typeof replayDeadLetters>;
export type ReplayDeadLettersRequest = RpcRequest<ReplayDeadLetters>;
export type ReplayDeadLettersReply = RpcReply<ReplayDeadLetters>;

/**
 * Creates a new key that signs access tokens, and publishes it at once.
 * Fails with 409 `signing_keys_configured` where the keys come from JWT_SIGNING_KEYRING.
 */
export const ROTATE_SIGNING_KEY = operation('identity.rotate-signing-key', {
  request: z.object({}),
  reply: replyOf<{
    /** The new key. */
    kid: string;
    /** The key that signs until `signsFrom`. */
    replaces: string;
    /** ISO 8601. */
    signsFrom: string;
  }>(),
});
export type RotateSigningKeyReply = RpcReply<typeof ROTATE_SIGNING_KEY>;

/**
 * Withdraws a key at once: it leaves the JWKS, and every service refuses the access tokens that it signed.
 * Fails with 404 for an unknown key, with 409 `signing_keys_configured` for the signing key of JWT_SIGNING_KEYRING.
 */
export const WITHDRAW_SIGNING_KEY = operation('identity.withdraw-signing-key', {
  request: z.object({ kid: z.string().min(1).max(200) }),
  reply: replyOf<{
    kid: string;
    /** The key that signs from now on. */
    signs: string;
  }>(),
});
export type WithdrawSigningKeyRequest = RpcRequest<typeof WITHDRAW_SIGNING_KEY>;
export type WithdrawSigningKeyReply = RpcReply<typeof WITHDRAW_SIGNING_KEY>;
