import { randomUUID } from 'node:crypto';
import { readClaims } from './access-token.js';

const valid = {
  sub: randomUUID(),
  sid: randomUUID(),
  email: 'user@example.test',
  type: 'access',
  scope: 'partner',
  partnerId: randomUUID(),
  orgId: null,
  roleId: randomUUID(),
  mfa: true,
  aep: 1,
  mep: 0,
  iat: 1_767_225_600,
  exp: 1_767_226_500,
};

describe('readClaims', () => {
  it('returns the claims of a complete payload, with mfa only when it is true', () => {
    expect(readClaims(valid)).toEqual(valid);
    expect(readClaims({ ...valid, mfa: 'true' })?.mfa).toBe(false);
  });

  it.each([
    ['sub', 'x'],
    ['sid', 'x'],
    ['partnerId', 'x'],
    ['orgId', 'x'],
    ['roleId', 42],
    ['scope', 'root'],
    ['type', 'refresh'],
    ['aep', 1.5],
    ['mep', '0'],
    ['iat', Number.NaN],
    ['exp', 1e99],
    ['exp', valid.iat + 86_401],
  ])('refuses %s of %p although the signature is valid', (claim, value) => {
    expect(readClaims({ ...valid, [claim]: value })).toBeNull();
  });
});
