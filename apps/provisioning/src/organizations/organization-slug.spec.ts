import { organizationSlug } from './organization-slug.js';

describe('organizationSlug', () => {
  it('transliterates the name and falls back to "org"', () => {
    expect(organizationSlug('Café Müller & Sons')).toBe('cafe-mueller-sons');
    expect(organizationSlug('日本')).toBe('org');
  });

  it('keeps at most 90 characters', () => {
    expect(organizationSlug('a'.repeat(200))).toHaveLength(90);
  });
});
