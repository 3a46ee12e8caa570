import { equalInConstantTime, hashKey } from '@rmm/secrets';
import type { EnrollmentConfig } from '../config.js';
import { EnrollmentSecretInvalid, EnrollmentSecretRequired } from './enrollment.errors.js';

/**
 * A key minted with its own secret wants that one, others the fleet's, if there is one.
 * @param keySecretHash  SHA-256 in hex, or null
 * @returns what is wrong, or null
 * @see CONTRACT.md 4.10.8
 */
export function secretProblem(
  config: Pick<EnrollmentConfig, 'fleetSecretHash'>,
  keySecretHash: string | null,
  presented: string | null,
): EnrollmentSecretRequired | EnrollmentSecretInvalid | null {
  const wanted = keySecretHash === null ? config.fleetSecretHash : Buffer.from(keySecretHash, 'hex');
  if (wanted === null) return null;
  if (presented === null || presented === '') return new EnrollmentSecretRequired();
  return equalInConstantTime(hashKey(presented), wanted) ? null : new EnrollmentSecretInvalid();
}
