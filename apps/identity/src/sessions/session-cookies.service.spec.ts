import type { IdentityConfig } from '../config.js';
import type { HttpRequest, HttpResponse } from './http-request.js';
import { REFRESH_COOKIE, SessionCookies } from './session-cookies.service.js';

const session = { tokens: { accessToken: 'a', expiresInSeconds: 900 }, csrfToken: 'csrf', refreshToken: 'refresh' };

type Config = Partial<Pick<IdentityConfig, 'isProduction' | 'publicApiUrl'>> & IdentityConfig['authCookie'];

function cookiesOf(
  { isProduction = false, publicApiUrl = 'http://localhost:8080', ...authCookie }: Config,
  request = {},
) {
  const written: string[] = [];
  const response = { appendHeader: (_: string, value: string) => written.push(value) } as unknown as HttpResponse;
  const cookies = new SessionCookies({
    authCookie,
    isProduction,
    publicApiUrl,
    refreshTokenTtlDays: 7,
  } as IdentityConfig);
  return { cookies, written, response, request: { secure: false, headers: {}, ...request } as HttpRequest };
}

const attributesOf = (cookie: string | undefined) => cookie?.split('; ').sort();

describe('SessionCookies', () => {
  it('sets both cookies and leaves the refresh token out of the body', () => {
    const { cookies, written, request, response } = cookiesOf({ sameSite: 'lax', forceSecure: false });
    const { refreshToken, ...body } = session;
    expect(cookies.set(request, response, session)).toEqual(body);
    expect(attributesOf(written[0])).toEqual(
      ['HttpOnly', 'Max-Age=604800', 'Path=/api/v1/auth', 'SameSite=Lax', `${REFRESH_COOKIE}=refresh`].sort(),
    );
    expect(attributesOf(written[1])).toEqual(
      ['Max-Age=604800', 'Path=/', 'SameSite=Lax', 'service_csrf_token=csrf'].sort(),
    );
  });

  it.each([
    ['over HTTPS', { sameSite: 'lax', forceSecure: false }, true],
    ['when it is configured', { sameSite: 'strict', forceSecure: true }, false],
    ['with SameSite=None', { sameSite: 'none', forceSecure: false }, false],
    ['in production', { sameSite: 'lax', forceSecure: false, isProduction: true }, false],
    ['when PUBLIC_API_URL is https', { sameSite: 'lax', forceSecure: false, publicApiUrl: 'https://api.test' }, false],
  ] as const)('marks cookies as secure %s', (_case, config, secure) => {
    const { cookies, written, request, response } = cookiesOf(config, { secure });
    cookies.clear(request, response);
    expect(written).toHaveLength(2);
    for (const cookie of written) expect(attributesOf(cookie)).toEqual(expect.arrayContaining(['Secure', 'Max-Age=0']));
  });

  it('reads the first of two cookies and no empty one', () => {
    const { cookies } = cookiesOf({ sameSite: 'lax', forceSecure: false });
    expect(cookies.read({ headers: { cookie: 'x=1; y=2; x=3' } }, 'x')).toBe('1');
    expect(cookies.read({ headers: { cookie: 'x=' } }, 'x')).toBeUndefined();
    expect(cookies.read({ headers: {} }, 'x')).toBeUndefined();
  });
});
