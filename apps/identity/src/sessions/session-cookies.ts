import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { headerOf, type HttpRequest, type HttpResponse, type WithHeaders } from './http.js';
import type { IssuedSession } from './session-opener.js';
import type { SessionDto } from './session.dto.js';

export const REFRESH_COOKIE = 'service_refresh_token';
export const CSRF_COOKIE = 'service_csrf_token';
const REFRESH_PATH = '/api/v1/auth';
const DAY_SECONDS = 86_400;

/** 64 hex characters: the value of the CSRF cookie and of `csrfToken` in bodies. */
export const newCsrfToken = (): string => randomBytes(32).toString('hex');

/** Writes, clears and reads the two session cookies. @see CONTRACT.md 2.6 */
@Injectable()
export class SessionCookies {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  /** @returns what is left for the body: a browser's refresh token stands in its cookie alone */
  set(request: HttpRequest, response: HttpResponse, { tokens, csrfToken, refreshToken }: IssuedSession): SessionDto {
    const maxAge = this.config.refreshTokenTtlDays * DAY_SECONDS;
    this.write(request, response, { refreshToken, csrfToken, maxAge });
    return { tokens, csrfToken };
  }

  clear(request: HttpRequest, response: HttpResponse): void {
    this.write(request, response, { refreshToken: '', csrfToken: '', maxAge: 0 });
  }

  /** The value of a cookie of the request, or undefined; the first when it came twice. */
  read(request: WithHeaders, name: string): string | undefined {
    for (const pair of (headerOf(request, 'cookie') ?? '').split(';')) {
      const equals = pair.indexOf('=');
      if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim() || undefined;
    }
    return undefined;
  }

  private write(
    request: HttpRequest,
    response: HttpResponse,
    { refreshToken, csrfToken, maxAge }: { refreshToken: string; csrfToken: string; maxAge: number },
  ): void {
    const { sameSite, forceSecure } = this.config.authCookie;
    const secure = forceSecure || sameSite === 'none' || request.secure;
    const shared = `SameSite=${sameSite[0]?.toUpperCase()}${sameSite.slice(1)}; Max-Age=${maxAge}${secure ? '; Secure' : ''}`;
    response.appendHeader('Set-Cookie', `${REFRESH_COOKIE}=${refreshToken}; Path=${REFRESH_PATH}; HttpOnly; ${shared}`);
    response.appendHeader('Set-Cookie', `${CSRF_COOKIE}=${csrfToken}; Path=/; ${shared}`);
  }
}
