import { ValidationError } from '@rmm/errors';
import { mergeSettings } from './merge-settings.js';

describe('mergeSettings', () => {
  it('replaces keys and removes those that are null', () => {
    const merged = mergeSettings({ a: 1, b: { c: 1 }, d: 1 }, { b: { e: 2 }, d: null });
    expect(merged).toEqual({ a: 1, b: { e: 2 } });
  });

  it('refuses more than 64 KB after the merge, also in many small changes', () => {
    let settings = {};
    for (let n = 0; n < 3; n += 1) settings = mergeSettings(settings, { [`k${n}`]: 'x'.repeat(20_000) });
    expect(() => mergeSettings(settings, { k3: 'x'.repeat(6_000) })).toThrow(ValidationError);
    expect(mergeSettings(settings, { k0: null, k3: 'x'.repeat(20_000) })).toHaveProperty('k3');
  });

  it('refuses __proto__ and accepts other names of Object.prototype', () => {
    expect(() => mergeSettings({}, JSON.parse('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>)).toThrow(
      ValidationError,
    );
    expect(mergeSettings({}, { constructor: 1 })).toEqual({ constructor: 1 });
  });

  it('counts bytes, not characters', () => {
    expect(() => mergeSettings({}, { a: '€'.repeat(22_000) })).toThrow(ValidationError);
  });
});
