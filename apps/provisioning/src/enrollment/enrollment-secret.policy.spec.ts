import { hashKey } from '@rmm/secrets';
import { checkEnrollmentSecret } from './enrollment-secret.policy.js';

const fleet = { fleetSecretHash: hashKey('of the fleet') };
const withoutSecret = { fleetSecretHash: null };
const ofKey = hashKey('of the key').toString('hex');

describe('checkEnrollmentSecret', () => {
  it.each([
    ['no secret is known', withoutSecret, null, null],
    ['no secret is known and one is sent', withoutSecret, null, 'anything'],
    ['the fleet secret is right', fleet, null, 'of the fleet'],
    ['the secret of the key is right', fleet, ofKey, 'of the key'],
  ])('returns null when %s', (_, config, keyHash, presented) => {
    expect(checkEnrollmentSecret(config, keyHash, presented)).toBeNull();
  });

  it.each([
    ['none is sent', fleet, null, null, 'enrollment_secret_required'],
    ['an empty one is sent', withoutSecret, ofKey, '', 'enrollment_secret_required'],
    ['the wrong one is sent', fleet, null, 'guess', 'enrollment_secret_invalid'],
    ['the fleet secret is sent for a key with its own', fleet, ofKey, 'of the fleet', 'enrollment_secret_invalid'],
  ])('returns an error when %s', (_, config, keyHash, presented, code) => {
    expect(checkEnrollmentSecret(config, keyHash, presented)?.code).toBe(code);
  });
});
