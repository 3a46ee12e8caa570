import { currentContext, type KitRequest, type KitResponse } from '@rmm/service-kit';
import type { Caller } from './caller.js';

/** A request with the caller that the guard stores on it. */
export type AccessRequest = KitRequest & { caller?: Caller };
export type AccessResponse = KitResponse;

/** Returns the token of `Authorization: Bearer <token>`, or null. */
export function bearerToken(request: AccessRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined || header.length < 8) return null;
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const token = header.slice(7).trim();
  return token === '' ? null : token;
}

/** Returns the value of `X-API-Key`, or null when the header is absent. An empty header returns an empty text. */
export function presentedKey(request: AccessRequest): string | null {
  const header = request.headers['x-api-key'];
  return typeof header === 'string' ? header : null;
}

/** Returns the client's address behind trusted proxies, or undefined when it is unknown. */
export function clientAddress(request: AccessRequest): string | undefined {
  return request.clientAddress ?? currentContext()?.ipAddress;
}

/** Returns the method and route pattern, as audit rows name it: `PATCH /api/v1/users/:id`. */
export function routeOf(request: AccessRequest): string {
  return `${request.method} ${routePathOf(request)}`;
}

/** Returns the route pattern `/api/v1/users/:id`, or the path when no route matched. */
export function routePathOf({ route, pathname }: AccessRequest): string {
  const path = route?.path;
  return typeof path === 'string' ? path : pathname;
}
