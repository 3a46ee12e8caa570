import { choosePageLanguage } from './page-language.js';

describe('choosePageLanguage', () => {
  it.each([
    ['de', 'de'],
    ['de-CH,de;q=0.9,en;q=0.8', 'de'],
    ['fr-FR, fr;q=0.9, de;q=0.5, en;q=0.7', 'en'],
    ['EN-gb', 'en'],
    ['de;q=0, en;q=0.1', 'en'],
    ['fr', 'en'],
    ['*', 'en'],
    ['', 'en'],
    [';;;q=x,,de', 'de'],
    ['__proto__, constructor', 'en'],
  ])('reads the languages of the browser: %j', (accepted, expected) => {
    expect(choosePageLanguage({ accepted })).toBe(expected);
  });

  it('prefers the switch, then its cookie', () => {
    expect(choosePageLanguage({ query: 'en', cookie: 'de', accepted: 'de' })).toBe('en');
    expect(choosePageLanguage({ query: 'xx', cookie: 'de', accepted: 'en' })).toBe('de');
    expect(choosePageLanguage({ query: ['de'], cookie: 'toString', accepted: 'en' })).toBe('en');
  });
});
