import { totpCode } from './totp.js';

// RFC 6238, appendix B: SHA-1, the secret "12345678901234567890", last six of eight digits.
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('totpCode', () => {
  it.each([
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ])('at %d seconds gives %s', (seconds, code) => {
    expect(totpCode(SECRET, 0, seconds * 1000)).toBe(code);
  });

  it('gives the code of the next step on request', () => {
    expect(totpCode(SECRET, 1, 29_000)).toBe(totpCode(SECRET, 0, 59_000));
  });
});
