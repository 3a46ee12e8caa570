import cors from 'cors';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';

const EXPOSED_HEADERS = [
  'Content-Length',
  'X-Request-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Idempotency-Replayed',
];
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'X-API-Key',
  'X-Service-CSRF',
  'X-Request-Id',
  'Idempotency-Key',
  'X-Idempotency-Key',
  'traceparent',
];

/** Sets the security headers of every response; HSTS over HTTPS only. @see docs/reference/requests.md */
export function securityHeaders(): RequestHandler {
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'self'"] } },
    crossOriginResourcePolicy: { policy: 'same-site' },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xPoweredBy: false,
    xXssProtection: false,
  });
  const setHsts = helmet.hsts({ maxAge: 31_536_000, includeSubDomains: true, preload: true });
  return (request, response, next) => {
    setHeaders(request, response, (error) =>
      error || !request.secure ? next(error) : setHsts(request, response, next),
    );
  };
}

/** Sets the CORS headers for the listed origins, credentials included; other origins get none. */
export function corsHeaders(origins: readonly string[]): RequestHandler {
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
  return (request, response, next) => {
    if (listed.has(request.headers.origin)) return setHeaders(request, response, next);
    response.setHeader('Vary', 'Origin');
    next();
  };
}

/** Ends preflight requests. Runs after the global limit, so that they count. */
export function endPreflight(request: Request, response: Response, next: NextFunction): void {
  const { origin, 'access-control-request-method': method } = request.headers;
  if (request.method !== 'OPTIONS' || origin === undefined || method === undefined) return next();
  response.status(204).end();
}
