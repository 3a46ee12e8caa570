import { deliveryIdOf } from './delivery-id.js';

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
