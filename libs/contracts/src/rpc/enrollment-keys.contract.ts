import { z } from 'zod';
import { sha256Hex, uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

export type EnrollmentRefusal =
  'invalid_enrollment_key' | 'enrollment_key_expired' | 'enrollment_key_exhausted' | 'enrollment_key_race_lost';

/** The enrollment key that was presented. */
export interface PresentedEnrollmentKey {
  enrollmentKeyId: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  /** SHA-256 of the secret minted with the key, hex, or null. */
  enrollmentSecretHash: string | null;
}

export type EnrollmentReserveReply =
  | ({ reserved: true } & PresentedEnrollmentKey)
  | {
      reserved: false;
      reason: EnrollmentRefusal;
      /** The key that has no use left, so that the refusal is audited in its tenant; null for an unknown key. */
      key: PresentedEnrollmentKey | null;
    };

/** Reserves one use of an enrollment key for a device. A repeated request with the same device id is the same reservation. */
export const ENROLLMENT_KEYS_RESERVE = rpc('credentials.enrollment-keys.reserve', {
  request: z.object({
    /** Digests of the presented key, one for each known pepper, the current one first. Keys cross as hashes only. */
    keyHashes: z.array(sha256Hex).min(1).max(10),
    /** Chosen by provisioning. */
    deviceId: uuid,
  }),
  reply: replyOf<EnrollmentReserveReply>(),
  idempotent: true,
});
export type EnrollmentReserveRequest = RpcRequest<typeof ENROLLMENT_KEYS_RESERVE>;

const settleRequest = z.object({ deviceId: uuid });
export type EnrollmentSettleRequest = z.infer<typeof settleRequest>;

/** Confirms a reservation after the device was stored. */
export const ENROLLMENT_KEYS_CONFIRM = rpc('credentials.enrollment-keys.confirm', {
  request: settleRequest,
  reply: replyOf<{ settled: boolean }>(),
});

/** Releases a reservation whose device was not stored. */
export const ENROLLMENT_KEYS_RELEASE = rpc('credentials.enrollment-keys.release', {
  request: settleRequest,
  reply: replyOf<{ settled: boolean }>(),
});

/** Returns which of these devices exist, so that credentials can settle unconfirmed reservations. */
export const PROVISIONING_DEVICES_EXISTING = rpc('provisioning.devices.existing', {
  request: z.object({ deviceIds: z.array(uuid).max(1_000) }),
  reply: replyOf<{ existing: string[] }>(),
  idempotent: true,
});
