import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { randomUUID } from 'node:crypto';
import type { FleetConfig } from '../config/fleet-config.js';
import { type RequestContext, runInContext } from '../context/request-context.js';
import { RequestDeadline } from '../context/request-deadline.js';
import type { DomainError } from '../errors/domain-error.js';
import { type ToErrorBody, writeError } from '../errors/error-body.js';
import { logError } from '../errors/error.filter.js';
import { NotFoundError, UnavailableError } from '../errors/errors.js';
import { toDomainError } from '../errors/to-domain-error.js';
import { HealthRegistry } from '../health/health-registry.js';
import { RateLimits } from '../limits/rate-limits.service.js';
import { Logger } from '../logging/logger.js';
import { MetricsRegistry } from '../metrics/metrics-registry.js';
import { BodyMiddleware, type BodyRule, hasBody } from './body.middleware.js';
import { clientAddress, trustProxies } from './client-address.js';
import { GlobalLimit } from './global-limit.js';
import { corsHeaders, endPreflight, securityHeaders } from './headers.middleware.js';
import type { KitRequest, KitResponse } from './kit-request.js';
import { PathRules, type PathRule } from './path-rules.js';
import { RequestObserver } from './request-observer.js';
import type { ServiceEndpoints } from './service-endpoints.js';

/** A route that may keep its caller waiting longer than the usual 10 s. */
export interface TimeoutRule extends PathRule {
  timeoutMs: number;
}

/** Routes with other error bodies, also for errors before the router: body limits, rate limits, timeouts. */
export interface ErrorBodyRule extends PathRule {
  toBody: ToErrorBody;
}

export interface PipelineOptions {
  bodyLimits?: readonly BodyRule[];
  timeouts?: readonly TimeoutRule[];
  errorBodies?: readonly ErrorBodyRule[];
}

type Req = Request & KitRequest;
type Res = Response & KitResponse;
type Middleware = (request: Req, response: Res, next: NextFunction) => unknown;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The Express middleware before Nest's router, in the order of docs/reference/requests.md. */
export class RequestPipeline {
  private readonly logger: Logger;
  private readonly health: HealthRegistry;
  private readonly observer: RequestObserver;
  private readonly bodies: BodyMiddleware;
  private readonly timeouts: PathRules<TimeoutRule>;
  private readonly errorBodies: PathRules<ErrorBodyRule>;
  private readonly globalLimit: GlobalLimit;
  private readonly trusts: (address: string) => boolean;

  constructor(
    private readonly app: NestExpressApplication,
    private readonly config: FleetConfig,
    { bodyLimits = [], timeouts = [], errorBodies = [] }: PipelineOptions,
  ) {
    this.logger = app.get(Logger);
    this.health = app.get(HealthRegistry);
    this.observer = new RequestObserver(this.logger, app.get(MetricsRegistry));
    this.bodies = new BodyMiddleware(bodyLimits);
    this.timeouts = new PathRules(timeouts);
    this.errorBodies = new PathRules(errorBodies);
    this.globalLimit = new GlobalLimit(config, app.get(RateLimits));
    this.trusts = trustProxies(config.trustedProxyCidrs);
  }

  install(endpoints: ServiceEndpoints): void {
    this.app.set('trust proxy', this.trusts);
    this.app.use(
      chain([
        this.identify,
        securityHeaders(),
        corsHeaders(this.config.corsOrigins),
        endpoints.handle,
        this.accept,
        endPreflight,
        this.readBody,
        this.runInRequestContext,
      ]),
    );
  }

  /** Refuses a path that no route and no document has. */
  readonly refuseUnknown: RequestHandler = (request, response) =>
    this.refuse(request as Req, response, new NotFoundError());

  private readonly identify = (request: Req, response: Res, next: NextFunction): void => {
    const { 'x-request-id': given, 'x-forwarded-proto': protocols } = request.headers;
    request.pathname = request.path;
    request.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    // Express reads the first word; only the last one was written by the proxy that we trust.
    if (protocols?.includes(',')) request.headers['x-forwarded-proto'] = lastWord(String(protocols));
    request.clientAddress = clientAddress(request, this.trusts(request.socket.remoteAddress ?? ''));
    response.setHeader('X-Request-Id', request.requestId);
    if (this.health.state === 'draining') response.setHeader('Connection', 'close');
    next();
  };

  private readonly accept = (request: Req, response: Res, next: NextFunction): void => {
    this.observer.observe(request, response);
    if (this.health.state === 'starting') return this.refuse(request, response, new UnavailableError());
    if (this.config.forceHttps && !request.secure) {
      const { host } = new URL(this.config.publicApiUrl);
      return response.redirect(308, `https://${host}${request.originalUrl}`);
    }
    const error = decodes(request.pathname) ? this.bodies.checkHeaders(request) : new NotFoundError();
    if (error) return this.refuseUnread(request, response, error);
    const counted = this.globalLimit.count(request);
    if (counted === undefined) return next();
    counted.then(next, (failure: unknown) => this.refuseUnread(request, response, toDomainError(failure)));
  };

  private readonly readBody = (request: Req, response: Res, next: NextFunction): void => {
    this.bodies.read(request, response, (error) => {
      if (error) this.refuseUnread(request, response, error);
      else next();
    });
  };

  private readonly runInRequestContext = (request: Req, response: Res, next: NextFunction): void => {
    const timeoutMs = this.timeouts.find(request.pathname)?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadline = new RequestDeadline(timeoutMs);
    let timer = setTimeout(() => {
      const logDetails = { reason: `no response within ${timeoutMs} ms` };
      if (response.headersSent) return;
      if (deadline.expire()) return this.refuse(request, response, new UnavailableError(undefined, { logDetails }));
      // Something is committed: 503 would be wrong. The connection is closed when the outcome does not follow either.
      timer = setTimeout(() => void (response.headersSent || response.destroy()), timeoutMs).unref();
    }, timeoutMs).unref();
    response.on('close', () => clearTimeout(timer));
    runInContext({ ...contextOf(request), deadline }, next);
  };

  private refuse(request: Req, response: Res, error: DomainError): void {
    logError(this.logger, error, request);
    writeError(response, error, request.requestId, this.errorBodies.find(request.pathname)?.toBody);
  }

  /**
   * Discards the rest of the body. Closing while a client still sends resets its connection, and it may never read the
   * reason; so only a body that is too long to be read to its end, or of unknown length, loses the connection.
   */
  private refuseUnread(request: Req, response: Res, error: DomainError): void {
    const length = Number(request.headers['content-length'] ?? Infinity);
    if (!request.complete && hasBody(request) && length > MAX_DISCARDED_BYTES)
      response.setHeader('Connection', 'close');
    request.resume();
    this.refuse(request, response, error);
  }
}

/** Runs middleware in order as Express does, without matching a path before each; half the cost of eight layers. */
function chain(handlers: readonly Middleware[]): RequestHandler {
  return (request, response, next) => {
    const run = (index: number): void => {
      if (index === handlers.length) return next();
      handlers[index](request as Req, response, (error?: unknown) => (error ? next(error) : run(index + 1)));
    };
    run(0);
  };
}

function contextOf(request: Req): RequestContext {
  const { traceparent, 'user-agent': userAgent } = request.headers;
  return {
    requestId: request.requestId,
    traceparent: typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    ipAddress: request.clientAddress,
    userAgent,
    audited: false,
  };
}

const lastWord = (list: string) => list.slice(list.lastIndexOf(',') + 1).trim();

/** A path with a broken escape names nothing. */
function decodes(pathname: string): boolean {
  if (!pathname.includes('%')) return true;
  try {
    decodeURIComponent(pathname);
    return true;
  } catch {
    return false;
  }
}
