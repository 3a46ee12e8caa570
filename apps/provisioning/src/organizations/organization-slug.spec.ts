import { organizationSlug, slugBases } from './organization-slug.js';

describe('organizationSlug', () => {
  it('transliterates the name and falls back to "org"', () => {
    expect(organizationSlug('Café Müller & Sons')).toBe('cafe-mueller-sons');
    expect(organizationSlug('日本')).toBe('org');
  });

  it('keeps at most 90 characters', () => {
    expect(organizationSlug('a'.repeat(200))).toHaveLength(90);
  });
});

describe('slugBases', () => {
  it('returns the candidate and its form without a number, each once', () => {
    expect(slugBases(['acme', 'acme-2'])).toEqual(['acme', 'acme-2']);
    expect(slugBases(['office-365'])).toEqual(['office-365', 'office']);
  });
});
