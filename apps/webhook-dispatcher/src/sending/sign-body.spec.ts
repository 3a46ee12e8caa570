import { createSecretKey } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { signBody, signingKeys, signStandard, standardKeyBytes } from './sign-body.js';

describe('signBody', () => {
  it('matches what another implementation computes', () => {
    // printf '1767225600000.{"a":"é"}' | openssl dgst -sha256 -hmac 'top secret'
    expect(signBody(createSecretKey('top secret', 'utf8'), 1767225600000, '{"a":"é"}')).toBe(
      'sha256=aa506a02848430c5e01ffa54a295d37d87c94701d5d8656dde3e1413f55475d3',
    );
  });
});

describe('signStandard', () => {
  it('matches the vector of the reference libraries', () => {
    const key = createSecretKey(standardKeyBytes('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'));
    expect(signStandard(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });
});

describe('standardKeyBytes', () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i));

  it.each([
    ['base64', `whsec_${bytes.toString('base64')}`],
    ['base64 without padding', `whsec_${bytes.toString('base64').replace('=', '')}`],
    ['base64url', `whsec_${bytes.toString('base64url')}`],
  ])('reads %s after the prefix', (_, secret) => expect(standardKeyBytes(secret)).toEqual(bytes));

  it.each([
    'top secret',
    'bXkgc2VjcmV0',
    'whsec_',
    'whsec_not base64',
    'whsec_abcde',
    'whsec_ab=cd',
    'WHSEC_bXkgc2VjcmV0',
  ])('uses the bytes of %j', (secret) => expect(standardKeyBytes(secret).toString('utf8')).toBe(secret));

  it.each([
    ['a prefixed secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', undefined],
    ['a bare one, raw', 'correct horse battery staple', { format: 'raw' }],
  ] as const)('is what the reference library makes of %s', (_, secret, options) => {
    const theirs = new Webhook(secret, options).sign('id', new Date(1_700_000_000_000), '{"a":"é"}');
    const { standard } = signingKeys(secret, true);
    if (!standard) throw new Error('no key');
    expect(signStandard(standard, 'id', 1_700_000_000, '{"a":"é"}')).toBe(theirs);
  });

  it('is null for a webhook without Standard Webhooks', () => {
    expect(signingKeys('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', false).standard).toBeNull();
  });
});
