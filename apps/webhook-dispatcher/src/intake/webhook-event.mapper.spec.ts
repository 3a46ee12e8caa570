import type { Envelope } from '@rmm/contracts';
import { deliveryIdOf, createWebhookBody, deliveryTime, findEventError, rawMember } from './webhook-event.mapper.js';

const envelope = (changes: Partial<Envelope> = {}): Envelope => ({
  id: '0b5ff8a5-4b1b-4d3e-9b0e-0d5e6f3b8a11',
  type: 'device.enrolled',
  schemaVersion: 1,
  timestamp: '2026-03-01T12:00:00.000Z',
  partnerId: '7d0d7f5e-9f1c-4a0c-8f11-111111111111',
  orgId: '7d0d7f5e-9f1c-4a0c-8f11-222222222222',
  aggregateId: 'a',
  aggregateVersion: 1,
  data: { deviceId: 'd' },
  ...changes,
});

describe('findEventError', () => {
  it('accepts a valid event', () => expect(findEventError(envelope())).toBeNull());

  it.each([
    [{ type: 'device.exploded' }, 'unknown event type device.exploded'],
    [{ type: 'webhook.test' }, 'unknown event type webhook.test'],
    [{ orgId: 'all' }, 'orgId is not a lower-case UUID'],
    [{ orgId: null }, 'orgId is not a lower-case UUID'],
    [{ id: 'a\u0000b' }, 'id is not an id'],
    [{ id: 'x'.repeat(129) }, 'id is not an id'],
  ])('refuses %j', (changes, reason) => expect(findEventError(envelope(changes))).toBe(reason));
});

describe('deliveryTime', () => {
  const now = new Date('2026-03-08T12:00:00.000Z');

  it('is the time of the event', () => {
    expect(deliveryTime('2026-03-08T11:00:00.000Z', now)).toEqual(new Date('2026-03-08T11:00:00.000Z'));
    expect(deliveryTime('2026-03-08T14:00:00.000+02:00', now)).toEqual(now);
  });

  it.each(['2026-02-20T12:00:00.000Z', '2026-03-08T12:06:00.000Z', '1970-01-01T00:00:00.000Z'])(
    'is now for an event of %s',
    (timestamp) => expect(deliveryTime(timestamp, now)).toEqual(now),
  );
});

describe('createWebhookBody', () => {
  it('contains exactly the five fields in this order, data as it was published', () => {
    const event = envelope({ actor: { type: 'agent', id: 'x' }, correlationId: 'c' });
    expect(createWebhookBody(event, '{"deviceId":"d"}')).toBe(
      '{"id":"0b5ff8a5-4b1b-4d3e-9b0e-0d5e6f3b8a11","type":"device.enrolled","timestamp":"2026-03-01T12:00:00.000Z",' +
        '"orgId":"7d0d7f5e-9f1c-4a0c-8f11-222222222222","data":{"deviceId":"d"}}',
    );
  });
});

describe('rawMember', () => {
  it.each([
    ['{"data":{"n":12345678901234567890,"f":1.0}}', '{"n":12345678901234567890,"f":1.0}'],
    ['{ "id" : "a\\"},{" , "data" : { "a" : [ "]}" , {"b":"\\\\"} ] } , "z": 1 }', '{ "a" : [ "]}" , {"b":"\\\\"} ] }'],
    ['{"x":{"data":1},"y":[{"data":2}],"data": {} }', '{}'],
    ['{"data":{"first":1},"data":{"second":2}}', '{"second":2}'],
    ['{"a":null,"b":-1.5e3,"c":true,"data":{"d":"\\u0022"}}', '{"d":"\\u0022"}'],
    ['{"d\\u0061ta":{"escaped":"name"}}', '{"escaped":"name"}'],
  ])('returns the text of the member of %s', (json, expected) => {
    expect(rawMember(json, 'data')).toBe(expected);
    expect(JSON.parse(expected)).toEqual(JSON.parse(json).data);
  });

  it('returns null without the member', () => {
    expect(rawMember('{"a":{"data":1}}', 'data')).toBeNull();
    expect(rawMember('{}', 'data')).toBeNull();
  });
});

const A = '0b5ff8a5-4b1b-4d3e-9b0e-0d5e6f3b8a11';
const B = '9c0d3c4e-2f6a-4f0b-8a53-3cf3c0b6e722';

const AT = new Date('2026-03-01T12:00:00.123Z');

describe('deliveryIdOf', () => {
  it('begins with the time of the event', () => {
    const hex = deliveryIdOf(A, B, AT).replaceAll('-', '').slice(0, 12);
    expect(parseInt(hex, 16)).toBe(AT.getTime());
  });

  it('is a UUID', () => {
    expect(deliveryIdOf(A, B, AT)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('is the same for the same two, and another for any other two', () => {
    expect(deliveryIdOf(A, B, AT)).toBe(deliveryIdOf(A, B, AT));
    expect(new Set([deliveryIdOf(A, B, AT), deliveryIdOf(B, A, AT), deliveryIdOf(A, A, AT)]).size).toBe(3);
  });
});
