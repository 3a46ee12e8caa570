import { createHmac } from 'node:crypto';
import { InvalidWebhookSignature, isValidSignature, verifyWebhook } from './webhooks.js';

const SECRET = 'whsec_an-example';
const NOW = 1_770_000_000_000;
const BODY =
  '{"id":"e-1","type":"device.offline","timestamp":"2026-11-20T10:00:00.000Z","orgId":"o","data":{"deviceId":"d"}}';

const sign = (body: string, secret: string, timestamp: string | number = NOW) =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

const headersOf = (signature: string, timestamp: string | number = NOW) => ({
  'X-Service-Signature-Timestamp': String(timestamp),
  'X-Service-Signature': signature,
});

const isValid = (headers: Record<string, string>, body: string | Uint8Array = BODY, nowMs = NOW) =>
  isValidSignature({ body, headers }, SECRET, { nowMs });

describe('isValidSignature', () => {
  it('accepts the signature of the body, as text and as bytes, with headers of any kind', () => {
    const headers = headersOf(sign(BODY, SECRET));
    expect(isValid(headers)).toBe(true);
    expect(isValid(headers, Buffer.from(BODY))).toBe(true);
    expect(isValidSignature({ body: BODY, headers: new Headers(headers) }, SECRET, { nowMs: NOW })).toBe(true);
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]));
    expect(isValidSignature({ body: BODY, headers: lower }, SECRET, { nowMs: NOW })).toBe(true);
  });

  it('accepts the signature by the previous secret during a rotation', () => {
    const headers = { ...headersOf(sign(BODY, 'new')), 'X-Service-Signature-Previous': sign(BODY, SECRET) };
    expect(isValid(headers)).toBe(true);
  });

  it.each([
    ['another body', headersOf(sign(`${BODY} `, SECRET))],
    ['another secret', headersOf(sign(BODY, 'other'))],
    ['another time', headersOf(sign(BODY, SECRET, NOW - 1))],
    ['no algorithm', headersOf(sign(BODY, SECRET).slice('sha256='.length))],
    ['no signature', headersOf('')],
    ['a time that is no number', headersOf(sign(BODY, SECRET, 'soon'), 'soon')],
  ])('refuses a signature of %s', (_, headers) => {
    expect(isValid(headers)).toBe(false);
  });

  it('refuses a request of more than five minutes ago or ahead', () => {
    const headers = headersOf(sign(BODY, SECRET));
    expect(isValid(headers, BODY, NOW + 300_000)).toBe(true);
    expect(isValid(headers, BODY, NOW + 300_001)).toBe(false);
    expect(isValid(headers, BODY, NOW - 300_001)).toBe(false);
  });
});

describe('verifyWebhook', () => {
  it('returns the event, whose type selects the type of its data', () => {
    const event = verifyWebhook({ body: BODY, headers: headersOf(sign(BODY, SECRET)) }, SECRET, { nowMs: NOW });
    expect(event.type === 'device.offline' && event.data.deviceId).toBe('d');
  });

  it('throws for a signature that is not valid', () => {
    const request = { body: BODY, headers: headersOf(sign(BODY, 'other')) };
    expect(() => verifyWebhook(request, SECRET, { nowMs: NOW })).toThrow(InvalidWebhookSignature);
  });
});
