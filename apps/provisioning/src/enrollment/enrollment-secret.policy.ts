import { equalInConstantTime, hashKey } from '@rmm/secrets';
import type { EnrollmentConfig } from '../config.js';
import { EnrollmentSecretInvalid, EnrollmentSecretRequired } from './enrollment.errors.js';

/**
 * Checks the secret of an enrollment: the secret of the key if it has one, otherwise the one of the fleet, if any.
 * @param keySecretHash  SHA-256 in hex, or null
 * @returns the error, or null when the secret is valid or not required
 * @see docs/reference/provisioning.md
 */
export function checkEnrollmentSecret(
  config: Pick<EnrollmentConfig, 'fleetSecretHash'>,
  keySecretHash: string | null,
  secret: string | null,
): EnrollmentSecretRequired | EnrollmentSecretInvalid | null {
  const expected = keySecretHash === null ? config.fleetSecretHash : Buffer.from(keySecretHash, 'hex');
  if (expected === null) return null;
  if (secret === null || secret === '') return new EnrollmentSecretRequired();
  return equalInConstantTime(hashKey(secret), expected) ? null : new EnrollmentSecretInvalid();
}
