import cors from 'cors';
import type { Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';

const SECURITY_HEADERS = headersOf(
  helmet.contentSecurityPolicy({ useDefaults: false, directives: { defaultSrc: ["'self'"] } }),
  helmet.crossOriginResourcePolicy({ policy: 'same-site' }),
  helmet.frameguard({ action: 'deny' }),
  helmet.noSniff(),
  helmet.referrerPolicy({ policy: 'strict-origin-when-cross-origin' }),
);
const HSTS_HEADERS = headersOf(helmet.hsts({ maxAge: 31_536_000, includeSubDomains: true, preload: true }));
const EXPOSED_HEADERS =
  'Content-Length,ETag,X-Request-Id,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,RateLimit,' +
  'RateLimit-Policy,Idempotency-Replayed,Deprecation,Sunset,Link';
const ALLOWED_HEADERS =
  'Authorization,Content-Type,X-API-Key,X-Service-CSRF,X-Request-Id,Idempotency-Key,X-Idempotency-Key,If-Match,' +
  'If-None-Match,traceparent';

/** Returns the headers that helmet sets. They are the same for every response, so it does not run for each. */
function headersOf(...middleware: RequestHandler[]): Map<string, string> {
  const headers = new Map<string, string>();
  const response = { setHeader: (name: string, value: string) => headers.set(name, value) };
  for (const each of middleware) each({} as Request, response as unknown as Response, () => undefined);
  return headers;
}

/** Sets the security headers of every response; HSTS over HTTPS only. @see docs/reference/requests.md */
export function setSecurityHeaders(request: Request, response: Response): void {
  response.setHeaders(SECURITY_HEADERS);
  if (request.secure) response.setHeaders(HSTS_HEADERS);
}

/** Returns a function that sets the CORS headers for the listed origins, credentials included; others get none. */
export function corsHeaders(origins: readonly string[]): (request: Request, response: Response) => void {
  const listed = new Set<unknown>(origins);
  const setHeaders = cors({
    origin: [...origins],
    credentials: true,
    exposedHeaders: EXPOSED_HEADERS,
    allowedHeaders: ALLOWED_HEADERS,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    maxAge: 600,
    preflightContinue: true,
  });
  return (request, response) => {
    if (listed.has(request.headers.origin)) setHeaders(request, response, () => undefined);
    else response.setHeader('Vary', 'Origin');
  };
}
