import { currentContext, type KitRequest } from '@rmm/service-kit';
import type { ServerResponse } from 'node:http';
import type { Caller } from './caller.js';

/** What the guard reads of a request, and what it leaves on it. */
export type AccessRequest = KitRequest & { caller?: Caller };
export type AccessResponse = ServerResponse;

/** The token of `Authorization: Bearer <token>`, or null. */
export function bearerToken(request: AccessRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined || header.length < 8) return null;
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const token = header.slice(7).trim();
  return token === '' ? null : token;
}

/** The value of `X-API-Key`, or null when the header is absent. An empty header is present and empty. */
export function presentedKey(request: AccessRequest): string | null {
  const header = request.headers['x-api-key'];
  return typeof header === 'string' ? header : null;
}

/** The address after trusted proxies; undefined where none is known. @see CONTRACT.md 1.7 */
export function clientAddress(request: AccessRequest): string | undefined {
  return request.clientAddress ?? currentContext()?.ipAddress;
}

/** `PATCH /api/v1/users/:id`: what a refusal is filed under. */
export function routeOf(request: AccessRequest): string {
  return `${request.method} ${routePathOf(request)}`;
}

/** `/api/v1/users/:id` */
export function routePathOf({ route, pathname }: AccessRequest): string {
  const path = route?.path;
  return typeof path === 'string' ? path : pathname;
}
