import { freeSlug, slugOf } from './partner-slug.js';

describe('partner slugs', () => {
  it.each([
    ['Acme MSP, Inc.', 'acme-msp-inc'],
    ['  Zürich & Söhne ', 'zurich-sohne'],
    ['日本', 'partner'],
    ['--', 'partner'],
  ])('makes %j into %j', (name, slug) => expect(slugOf(name)).toBe(slug));

  it('stays short and never ends in a hyphen', () => {
    const slug = slugOf(`${'a'.repeat(59)} b`);
    expect(slug).toBe('a'.repeat(59));
  });

  it('takes the first free number', () => {
    expect(freeSlug('acme', [])).toBe('acme');
    expect(freeSlug('acme', ['acme', 'acme-2', 'acme-4'])).toBe('acme-3');
  });
});
