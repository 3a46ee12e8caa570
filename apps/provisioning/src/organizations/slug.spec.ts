import { freeSlug, slugBases, slugFor } from './slug.js';

describe('slugFor', () => {
  it.each([
    ['Acme Dental', 'acme-dental'],
    ['  Acme -- Dental & Sons, Ltd. ', 'acme-dental-sons-ltd'],
    ['ACME', 'acme'],
    ['日本', 'org'],
    ['---', 'org'],
  ])('turns %j into %j', (name, slug) => {
    expect(slugFor(name)).toBe(slug);
  });

  it('keeps at most 90 characters and never ends in a hyphen', () => {
    expect(slugFor('a'.repeat(200))).toHaveLength(90);
    expect(slugFor(`${'a'.repeat(89)} b`)).toBe('a'.repeat(89));
  });
});

describe('freeSlug', () => {
  it('counts up from 2 until a slug is free', () => {
    const taken = new Set(['acme', 'acme-2', 'acme-4']);
    expect(freeSlug('acme', (slug) => taken.has(slug))).toBe('acme-3');
    expect(freeSlug('other', (slug) => taken.has(slug))).toBe('other');
  });
});

describe('slugBases', () => {
  it('asks for the candidate and for its stem, each once', () => {
    expect(slugBases(['acme', 'acme-2'])).toEqual(['acme', 'acme-2']);
    expect(slugBases(['office-365'])).toEqual(['office-365', 'office']);
  });
});
