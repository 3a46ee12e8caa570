import { assertCsrfToken } from './csrf.js';
import { CsrfRejected } from './session.errors.js';

const origins = ['https://app.example.com'];
const check = (headers: Record<string, string>, cookie?: string) => assertCsrfToken({ headers }, cookie, origins);

describe('assertCsrfToken', () => {
  it('accepts a header that repeats the cookie from an allowed origin', () => {
    expect(() => check({ 'x-service-csrf': 'abc', origin: 'https://app.example.com' }, 'abc')).not.toThrow();
    expect(() => check({ 'x-service-csrf': 'abc', 'sec-fetch-site': 'same-site' }, 'abc')).not.toThrow();
  });

  it.each([
    ['no header', {}, 'abc'],
    ['another value', { 'x-service-csrf': 'abd' }, 'abc'],
    ['a foreign origin', { 'x-service-csrf': 'abc', origin: 'https://evil.example' }, 'abc'],
    ['an origin that only ends alike', { 'x-service-csrf': 'abc', origin: 'https://evil-app.example.com' }, 'abc'],
    ['the null origin', { 'x-service-csrf': 'abc', origin: 'null' }, 'abc'],
    ['another site', { 'x-service-csrf': 'abc', 'sec-fetch-site': 'cross-site' }, 'abc'],
    ['the literal 1 with a cookie', { 'x-service-csrf': '1' }, 'abc'],
    ['the literal 1 from a browser', { 'x-service-csrf': '1', origin: 'https://app.example.com' }, undefined],
  ])('refuses %s', (_case, headers, cookie) => {
    expect(() => check(headers as Record<string, string>, cookie)).toThrow(CsrfRejected);
  });

  it('accepts the literal 1 from a client that is no browser and has no cookie', () => {
    expect(() => check({ 'x-service-csrf': '1' })).not.toThrow();
  });
});
