import type { ServerResponse } from 'node:http';
import type { KitRequest } from './kit-request.js';

const EXPOSED =
  'Content-Length, X-Request-Id, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Idempotency-Replayed';
const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-API-Key, X-Service-CSRF, X-Request-Id, Idempotency-Key, X-Idempotency-Key, traceparent';
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const PREFLIGHT_MAX_AGE_SECONDS = '600';

/** Cross-origin rules for an explicit list of origins, with credentials. */
export class Cors {
  private readonly origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.origins = new Set(origins);
  }

  /** First of all, so that a browser may read refusals too. */
  setHeaders({ headers: { origin } }: KitRequest, response: ServerResponse): void {
    response.setHeader('Vary', 'Origin');
    if (origin === undefined || !this.origins.has(origin)) return;
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Allow-Credentials', 'true');
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  }

  /** @returns true when it was a preflight, which is answered now */
  answerPreflight({ method, headers }: KitRequest, response: ServerResponse): boolean {
    if (method !== 'OPTIONS' || headers.origin === undefined) return false;
    if (headers['access-control-request-method'] === undefined) return false;
    if (this.origins.has(headers.origin)) {
      response.setHeader('Access-Control-Allow-Methods', ALLOWED_METHODS);
      response.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
      response.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
    }
    response.statusCode = 204;
    response.end();
    return true;
  }
}
