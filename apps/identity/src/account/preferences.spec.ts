import { ValidationError } from '@rmm/service-kit';
import { assertPreferences, mergePreferences } from './preferences.js';

describe('preferences', () => {
  it('accept valid keys, other keys of clients, and null to remove a key', () => {
    const change = { theme: 'dark', locale: 'en-GB', font: 'Source Sans 3', sidebar: { open: true }, density: null };
    expect(() => assertPreferences(change)).not.toThrow();
  });

  it.each([
    ['theme', 'blue'],
    ['density', 1],
    ['timeFormat', '25h'],
    ['font', '<script>'],
    ['locale', 'not a tag'],
    ['locale', `en-${'x'.repeat(40)}`],
  ])('refuse %s: %j', (key, value) => {
    expect(() => assertPreferences({ [key]: value })).toThrow(ValidationError);
  });

  it('merge key by key', () => {
    expect(mergePreferences({ theme: 'dark', a: 1 }, { a: null, b: 2 })).toEqual({ theme: 'dark', b: 2 });
  });

  it('are limited to 64 KB in all', () => {
    expect(() => mergePreferences({ a: 'x'.repeat(40_000) }, { b: 'x'.repeat(30_000) })).toThrow(ValidationError);
  });
});
