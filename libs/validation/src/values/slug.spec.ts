import { toSlug, uniqueSlug } from './slug.js';

const options = { maxLength: 90, fallback: 'org' };

describe('toSlug', () => {
  it.each([
    ['Acme Dental', 'acme-dental'],
    ['  Acme -- Dental & Sons, Ltd. ', 'acme-dental-sons-ltd'],
    ['ACME', 'acme'],
    ['AcmeDental GmbH', 'acmedental-gmbh'],
    ["O'Neill Bros", 'o-neill-bros'],
    ['A_B.C/D', 'a-b-c-d'],
    ["Conway's & Co", 'conways-co'],
    ['A^B (C) & D', 'ab-c-d'],
    ['Conway’s & Café', 'conways-cafe'],
    ['Café Müller', 'cafe-mueller'],
    ['Łódź Straße', 'lodz-strasse'],
    ['日本', 'org'],
    ['---', 'org'],
  ])('turns %j into %j', (name, slug) => {
    expect(toSlug(name, options)).toBe(slug);
  });

  it('truncates to the maximum length and never ends in a hyphen', () => {
    expect(toSlug('a'.repeat(200), options)).toHaveLength(90);
    expect(toSlug(`${'a'.repeat(89)} b`, options)).toBe('a'.repeat(89));
  });
});

describe('uniqueSlug', () => {
  it('counts up from 2 until a slug is free', () => {
    const taken = new Set(['acme', 'acme-2', 'acme-4']);
    expect(uniqueSlug('acme', (slug) => taken.has(slug))).toBe('acme-3');
    expect(uniqueSlug('other', (slug) => taken.has(slug))).toBe('other');
  });
});
