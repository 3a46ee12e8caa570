import { Injectable } from '@nestjs/common';
import { stringifySetCookie } from 'cookie';
import type { HttpRequest, HttpResponse, WithHeaders } from '../sessions/http-request.js';
import { SessionCookies } from '../sessions/session-cookies.service.js';

export const SSO_STATE_COOKIE = 'service_sso_state';
export const SSO_CODE_COOKIE = 'service_sso_code';

/** Cookies that tie a login to the browser that began it: from start to callback, and from callback to exchange. */
const COOKIES = {
  [SSO_STATE_COOKIE]: { path: '/api/v1/sso/callback', maxAge: 600 },
  [SSO_CODE_COOKIE]: { path: '/api/v1/sso/exchange', maxAge: 120 },
} as const;
type SsoCookie = keyof typeof COOKIES;

@Injectable()
export class SsoCookies {
  constructor(private readonly sessions: SessionCookies) {}

  set(request: HttpRequest, response: HttpResponse, name: SsoCookie, value: string): void {
    this.write(request, response, name, value, COOKIES[name].maxAge);
  }

  clear(request: HttpRequest, response: HttpResponse, name: SsoCookie): void {
    this.write(request, response, name, '', 0);
  }

  read(request: WithHeaders, name: SsoCookie): string | undefined {
    return this.sessions.read(request, name);
  }

  private write(request: HttpRequest, response: HttpResponse, name: SsoCookie, value: string, maxAge: number): void {
    const { secure, sameSite } = this.sessions.attributesFor(request);
    // The provider sends the browser back from another site: `strict` would leave the cookie out.
    const lax = name === SSO_STATE_COOKIE || sameSite === 'strict';
    const cookie = { name, value, path: COOKIES[name].path, maxAge, secure, httpOnly: true };
    response.appendHeader('Set-Cookie', stringifySetCookie({ ...cookie, sameSite: lax ? 'lax' : sameSite }));
  }
}
