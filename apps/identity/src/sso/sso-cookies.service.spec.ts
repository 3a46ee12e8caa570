import type { IdentityConfig } from '../config.js';
import type { HttpRequest, HttpResponse } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';
import { SSO_CODE_COOKIE, SSO_STATE_COOKIE, SsoCookies } from './sso-cookies.service.js';

type SameSite = IdentityConfig['authCookie']['sameSite'];

describe('SsoCookies', () => {
  const start = (sameSite: SameSite = 'lax', forceSecure = false) => {
    const written: string[] = [];
    const config = {
      authCookie: { sameSite, forceSecure },
      isProduction: false,
      publicApiUrl: 'http://localhost:8080',
    };
    const cookies = new SsoCookies(new SessionCookies(config as IdentityConfig));
    const response = { appendHeader: (_: string, value: string) => written.push(value) } as unknown as HttpResponse;
    return { cookies, written, response, request: { secure: false, headers: {} } as HttpRequest };
  };
  const attributesOf = (cookie = '') => cookie.split('; ').sort();

  it.each([
    [SSO_STATE_COOKIE, '/api/v1/sso/callback', 600],
    [SSO_CODE_COOKIE, '/api/v1/sso/exchange', 120],
  ] as const)('sends %s to its path only, and hides it from scripts', (name, path, seconds) => {
    const { cookies, written, request, response } = start();
    cookies.set(request, response, name, 'value');
    const attributes = ['HttpOnly', `Max-Age=${seconds}`, `Path=${path}`, 'SameSite=Lax', `${name}=value`];
    expect(attributesOf(written[0])).toEqual(attributes.sort());
    cookies.clear(request, response, name);
    expect(attributesOf(written[1])).toEqual(expect.arrayContaining([`${name}=`, 'Max-Age=0', `Path=${path}`]));
  });

  it.each<[SameSite, string, string]>([
    ['strict', 'Lax', 'Lax'],
    ['lax', 'Lax', 'Lax'],
    ['none', 'Lax', 'None'],
  ])('with SameSite=%s, comes back from the provider as %s and is exchanged as %s', (sameSite, state, code) => {
    const { cookies, written, request, response } = start(sameSite);
    cookies.set(request, response, SSO_STATE_COOKIE, 'value');
    cookies.set(request, response, SSO_CODE_COOKIE, 'value');
    expect(attributesOf(written[0])).toContain(`SameSite=${state}`);
    expect(attributesOf(written[1])).toContain(`SameSite=${code}`);
  });

  it('is secure when session cookies are', () => {
    const { cookies, written, request, response } = start('lax', true);
    cookies.set(request, response, SSO_STATE_COOKIE, 'value');
    expect(attributesOf(written[0])).toContain('Secure');
  });

  it('reads the cookie of a request', () => {
    const { cookies } = start();
    expect(cookies.read({ headers: { cookie: `x=1; ${SSO_CODE_COOKIE}=value` } }, SSO_CODE_COOKIE)).toBe('value');
    expect(cookies.read({ headers: {} }, SSO_CODE_COOKIE)).toBeUndefined();
  });
});
