import { createSecretKey } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { mintWebhookSecret } from '@rmm/secrets';
import { deliveryHeaders, signBody, signingKeys, signStandard, standardKeyBytes } from './delivery-request.js';

const DELIVERY = { id: 'delivery-1', eventId: 'event-1', eventType: 'device.online' };
const BODY = Buffer.from('{"hostname":"höst","n":1}');
const NOW = Date.now();

const headersOf = (
  changes: Partial<Parameters<typeof deliveryHeaders>[0]> = {},
  attemptMs = NOW,
): Record<string, string> => {
  const plain = { secret: null, previousSecret: null, standardWebhooks: false, headers: [] };
  return deliveryHeaders({ ...plain, ...changes }, DELIVERY, BODY, attemptMs);
};

describe('deliveryHeaders', () => {
  it('has one time in all its headers, and no signature without a secret', () => {
    expect(headersOf({}, 1_767_225_600_999)).toEqual({
      'Content-Type': 'application/json',
      'User-Agent': 'Service-Webhooks/1.0',
      'X-Service-Delivery-Id': 'delivery-1',
      'X-Service-Event-Id': 'event-1',
      'X-Service-Event-Type': 'device.online',
      'X-Service-Timestamp': '1767225600999',
      'X-Service-Signature-Timestamp': '1767225600999',
    });
  });

  it('signs with the previous secret until its time, to the millisecond', () => {
    const secret = signingKeys('new', false);
    const previousSecret = { ...signingKeys('old', false), untilMs: NOW };
    const before = headersOf({ secret, previousSecret }, NOW - 1);
    expect(before['X-Service-Signature']).toBe(signBody(secret.key, NOW - 1, BODY));
    expect(before['X-Service-Signature-Previous']).toBe(signBody(previousSecret.key, NOW - 1, BODY));
    expect(Object.keys(headersOf({ secret, previousSecret }, NOW))).toEqual(Object.keys(headersOf({ secret }, NOW)));
  });

  it('puts custom headers after the standard ones', () => {
    const headers = [{ key: 'X-Environment', value: 'prod' }];
    const names = Object.keys(headersOf({ secret: signingKeys('s', true), standardWebhooks: true, headers }));
    expect(names.indexOf('X-Environment')).toBe(names.length - 1);
  });
});

describe('the headers of Standard Webhooks', () => {
  const [current, old] = [mintWebhookSecret(), mintWebhookSecret()];
  const given = {
    secret: signingKeys(current, true),
    previousSecret: { ...signingKeys(old, true), untilMs: NOW + 60_000 },
    standardWebhooks: true,
  };
  const verifier = (secret: string) => new Webhook(secret);

  it('are accepted by their library, with either secret during an overlap', () => {
    const headers = headersOf(given);
    for (const secret of [current, old]) expect(() => verifier(secret).verify(BODY, headers)).not.toThrow();
    expect(() => verifier(mintWebhookSecret()).verify(BODY, headers)).toThrow('No matching signature found');
    expect(() => verifier(current).verify(`${BODY.toString()} `, headers)).toThrow('No matching signature found');
  });

  it('are refused by their library with the old secret once the overlap is over', () => {
    const headers = headersOf({ ...given, previousSecret: { ...given.previousSecret, untilMs: NOW } });
    expect(() => verifier(current).verify(BODY, headers)).not.toThrow();
    expect(() => verifier(old).verify(BODY, headers)).toThrow('No matching signature found');
  });

  it('are refused by their library when they are old', () => {
    expect(() => verifier(current).verify(BODY, headersOf(given, NOW - 301_000))).toThrow('timestamp too old');
  });

  it('carry the id of the event, seconds, and the current signature first', () => {
    const headers = headersOf(given, 1_767_225_600_999);
    expect(headers).toMatchObject({ 'webhook-id': 'event-1', 'webhook-timestamp': '1767225600' });
    const one = headersOf({ ...given, previousSecret: null }, 1_767_225_600_999)['webhook-signature'];
    expect(headers['webhook-signature']?.split(' ')).toEqual([one, expect.stringMatching(/^v1,.{44}$/)]);
  });

  it('come unsigned where there is no secret', () => {
    expect(headersOf({ standardWebhooks: true })).toHaveProperty('webhook-id');
    expect(headersOf({ standardWebhooks: true })).not.toHaveProperty('webhook-signature');
  });
});

describe('signBody', () => {
  it('matches what another implementation computes', () => {
    // printf '1767225600000.{"a":"é"}' | openssl dgst -sha256 -hmac 'top secret'
    expect(signBody(createSecretKey('top secret', 'utf8'), 1767225600000, Buffer.from('{"a":"é"}'))).toBe(
      'sha256=aa506a02848430c5e01ffa54a295d37d87c94701d5d8656dde3e1413f55475d3',
    );
  });
});

describe('signStandard', () => {
  it('matches the vector of the reference libraries', () => {
    const key = createSecretKey(standardKeyBytes('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'));
    expect(signStandard(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, Buffer.from('{"test": 2432232314}'))).toBe(
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
    expect(signStandard(standard, 'id', 1_700_000_000, Buffer.from('{"a":"é"}'))).toBe(theirs);
  });

  it('is null for a webhook without Standard Webhooks', () => {
    expect(signingKeys('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', false).standard).toBeNull();
  });
});
