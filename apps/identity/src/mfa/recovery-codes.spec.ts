import { hashRecoveryCode, newRecoveryCodes, normalizeRecoveryCode } from './recovery-codes.js';

describe('recovery codes', () => {
  it('creates ten different codes of the shape XXXX-XXXX', () => {
    const codes = newRecoveryCodes();
    expect(new Set(codes).size).toBe(10);
    expect(codes.every((code) => /^[A-Z0-9]{4}-[A-Z0-9]{4}$/.test(code))).toBe(true);
  });

  it('accepts lower case and no other shape', () => {
    expect(normalizeRecoveryCode(' ab12-cd34 ')).toBe('AB12-CD34');
    expect(normalizeRecoveryCode('ab12cd34')).toBeNull();
    expect(normalizeRecoveryCode('123456')).toBeNull();
  });

  it('hashes differently per user and pepper', () => {
    const hashOf = (user: string, pepper: string) => hashRecoveryCode('AB12-CD34', user, pepper).toString('hex');
    expect(hashOf('u1', 'p')).toBe(hashOf('u1', 'p'));
    expect(new Set([hashOf('u1', 'p'), hashOf('u2', 'p'), hashOf('u1', 'q')]).size).toBe(3);
  });
});
