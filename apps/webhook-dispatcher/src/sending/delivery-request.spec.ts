import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { mintWebhookSecret } from '@rmm/secrets';
import { deliveryHeaders } from './delivery-request.js';
import { signBody, signingKeys } from './sign-body.js';

const DELIVERY = { id: 'delivery-1', eventId: 'event-1', eventType: 'device.online' };
const BODY = '{"hostname":"höst","n":1}';
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
  const verifiers = [
    ['standardwebhooks', (secret: string) => new Webhook(secret)],
    ['svix', (secret: string) => new SvixWebhook(secret)],
  ] as const;

  it.each(verifiers)('are accepted by %s, with either secret during an overlap', (_, verifier) => {
    const headers = headersOf(given);
    for (const secret of [current, old]) expect(() => verifier(secret).verify(BODY, headers)).not.toThrow();
    expect(() => verifier(mintWebhookSecret()).verify(BODY, headers)).toThrow('No matching signature found');
    expect(() => verifier(current).verify(`${BODY} `, headers)).toThrow('No matching signature found');
  });

  it.each(verifiers)('are refused by %s with the old secret once the overlap is over', (_, verifier) => {
    const headers = headersOf({ ...given, previousSecret: { ...given.previousSecret, untilMs: NOW } });
    expect(() => verifier(current).verify(BODY, headers)).not.toThrow();
    expect(() => verifier(old).verify(BODY, headers)).toThrow('No matching signature found');
  });

  it.each(verifiers)('are refused by %s when they are old', (_, verifier) => {
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
