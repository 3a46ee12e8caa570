import { CREDENTIAL_PATTERNS } from './credential-texts.js';
import { hasKnownSecret, SECRET_PATTERNS } from './secret-patterns.constants.js';

/** Removes character classes, in which `*`, `+` and `{` are literal, and escaped characters. */
const withoutLiterals = (source: string) => source.replace(/\\./g, '').replace(/\[[^\]]*\]/g, '_');

describe('the patterns', () => {
  const sources = [...SECRET_PATTERNS, ...Object.values(CREDENTIAL_PATTERNS)];

  it.each(sources)('%s has no quantifier without an upper bound, so that the time is linear', (source) => {
    expect(withoutLiterals(source)).not.toMatch(/[*+]|\{\d*,\}/);
  });
});

describe('hasKnownSecret', () => {
  const id = `AKIA${'A1'.repeat(8)}`;

  it('is true at the edges of a text and between other characters', () => {
    for (const text of [id, `x ${id}`, `${id} x`, `"${id}"`, `key=${id};`, `(${id})`]) {
      expect(hasKnownSecret(text)).toBe(true);
    }
  });

  it('is false for a part of a longer word', () => {
    for (const text of [`X${id}`, `${id}X`, 'AKIA', 'ghp_short', '-----BEGIN CERTIFICATE-----', 'eyJ.eyJ.']) {
      expect(hasKnownSecret(text)).toBe(false);
    }
  });
});
