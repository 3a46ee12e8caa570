import { Inject, Injectable } from '@nestjs/common';
import { parseCookie, stringifySetCookie, type SetCookie } from 'cookie';
import { randomBytes } from 'node:crypto';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { SessionDto } from './dto/session.dto.js';
import { getHeader, type HttpRequest, type HttpResponse, type WithHeaders } from './http-request.js';
import type { IssuedSession } from './sessions.service.js';

export const REFRESH_COOKIE = 'service_refresh_token';
export const CSRF_COOKIE = 'service_csrf_token';
const REFRESH_PATH = '/api/v1/auth';
const DAY_SECONDS = 86_400;

/** Returns 64 hex characters: the value of the CSRF cookie and of `csrfToken` in bodies. */
export const newCsrfToken = (): string => randomBytes(32).toString('hex');

/** Sets, clears and reads the two session cookies. @see docs/reference/authentication.md */
@Injectable()
export class SessionCookies {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  /** Sets both cookies. @returns the rest for the body: a browser gets its refresh token in the cookie alone */
  set(request: HttpRequest, response: HttpResponse, { tokens, csrfToken, refreshToken }: IssuedSession): SessionDto {
    this.write(request, response, { refreshToken, csrfToken, maxAge: this.config.refreshTokenTtlDays * DAY_SECONDS });
    return { tokens, csrfToken };
  }

  clear(request: HttpRequest, response: HttpResponse): void {
    this.write(request, response, { refreshToken: '', csrfToken: '', maxAge: 0 });
  }

  /** Returns the value of a cookie of the request; the first when it was sent twice, undefined when it is empty. */
  read(request: WithHeaders, name: string): string | undefined {
    return parseCookie(getHeader(request, 'cookie') ?? '')[name] || undefined;
  }

  /** Returns `Secure` and `SameSite` of cookies that answer a request. */
  attributesFor(request: HttpRequest): { secure: boolean; sameSite: IdentityConfig['authCookie']['sameSite'] } {
    return { secure: this.isAlwaysSecure || request.secure, sameSite: this.config.authCookie.sameSite };
  }

  /** Browsers reach the API by HTTPS whatever the connection of this process looks like: TLS ends at a proxy. */
  private get isAlwaysSecure(): boolean {
    const { authCookie, isProduction, publicApiUrl } = this.config;
    const isHttps = publicApiUrl.startsWith('https:');
    return isProduction || isHttps || authCookie.forceSecure || authCookie.sameSite === 'none';
  }

  private write(
    request: HttpRequest,
    response: HttpResponse,
    { refreshToken, csrfToken, maxAge }: { refreshToken: string; csrfToken: string; maxAge: number },
  ): void {
    const { secure, sameSite } = this.attributesFor(request);
    const cookies: SetCookie[] = [
      { name: REFRESH_COOKIE, value: refreshToken, path: REFRESH_PATH, httpOnly: true, sameSite, maxAge, secure },
      { name: CSRF_COOKIE, value: csrfToken, path: '/', sameSite, maxAge, secure },
    ];
    for (const cookie of cookies) response.appendHeader('Set-Cookie', stringifySetCookie(cookie));
  }
}
