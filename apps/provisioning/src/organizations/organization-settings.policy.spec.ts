import { ValidationError } from '@rmm/service-kit';
import { mergeOrganizationSettings } from './organization-settings.policy.js';

describe('mergeOrganizationSettings', () => {
  it('merges per key; null removes a key', () => {
    expect(mergeOrganizationSettings({ a: 1, b: 2 }, { a: null, c: 3, locale: 'de' })).toEqual({
      b: 2,
      c: 3,
      locale: 'de',
    });
  });

  it.each([{ locale: 'not a tag' }, { locale: 5 }])('refuses %j', (changes) => {
    expect(() => mergeOrganizationSettings({}, changes)).toThrow(ValidationError);
  });

  it('refuses more than 64 KB after the merge', () => {
    expect(() => mergeOrganizationSettings({ a: 'x'.repeat(60_000) }, { b: 'x'.repeat(6_000) })).toThrow(
      ValidationError,
    );
  });
});
