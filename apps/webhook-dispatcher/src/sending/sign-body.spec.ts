import { createSecretKey } from 'node:crypto';
import { signBody } from './sign-body.js';

describe('signBody', () => {
  it('matches what another implementation computes', () => {
    // printf '1767225600000.{"a":"é"}' | openssl dgst -sha256 -hmac 'top secret'
    expect(signBody(createSecretKey('top secret', 'utf8'), 1767225600000, '{"a":"é"}')).toBe(
      'sha256=aa506a02848430c5e01ffa54a295d37d87c94701d5d8656dde3e1413f55475d3',
    );
  });
});
