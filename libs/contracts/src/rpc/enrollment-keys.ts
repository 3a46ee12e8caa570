import { rpc } from './rpc-contract.js';

/** Keys cross between services as hashes only: one per pepper known, current first, hex. */
export interface EnrollmentReserveRequest {
  keyHashes: string[];
  /** The device id provisioning has chosen; a repeat with the same id is the same reservation. */
  deviceId: string;
}

export type EnrollmentRefusal =
  'invalid_enrollment_key' | 'enrollment_key_expired' | 'enrollment_key_exhausted' | 'enrollment_key_race_lost';

export type EnrollmentReserveReply =
  | { reserved: false; reason: EnrollmentRefusal }
  | {
      reserved: true;
      enrollmentKeyId: string;
      orgId: string;
      partnerId: string;
      siteId: string | null;
      /** SHA-256 of the secret minted with the key, hex, or null. */
      enrollmentSecretHash: string | null;
    };

export interface EnrollmentSettleRequest {
  deviceId: string;
}

export const ENROLLMENT_KEYS_RESERVE = rpc<EnrollmentReserveRequest, EnrollmentReserveReply>(
  'credentials.enrollment-keys.reserve',
);
export const ENROLLMENT_KEYS_CONFIRM = rpc<EnrollmentSettleRequest, { settled: boolean }>(
  'credentials.enrollment-keys.confirm',
);
export const ENROLLMENT_KEYS_RELEASE = rpc<EnrollmentSettleRequest, { settled: boolean }>(
  'credentials.enrollment-keys.release',
);

/** Credentials asks before it settles a reservation nobody confirmed: which of these devices exist? */
export const PROVISIONING_DEVICES_EXISTING = rpc<{ deviceIds: string[] }, { existing: string[] }>(
  'provisioning.devices.existing',
);
