import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../context/request-context.js';
import { runInContext } from '../context/request-context.js';
import type { FleetConfig } from '../config/fleet-config.js';
import type { DomainError } from '../errors/domain-error.js';
import { type ToErrorBody, writeError } from '../errors/error-body.js';
import { logError } from '../errors/error.filter.js';
import { NotFoundError, UnavailableError } from '../errors/errors.js';
import { toDomainError } from '../errors/to-domain-error.js';
import type { HealthRegistry } from '../health/health-registry.js';
import type { RateLimits } from '../limits/rate-limits.service.js';
import { AccessLog } from '../logging/access-log.js';
import type { Logger } from '../logging/logger.js';
import type { RequestTimes } from '../metrics/request-times.js';
import { BodyReader, type BodyRule, hasBody } from './body-reader.js';
import { Cors } from './cors.js';
import { GlobalLimit } from './global-limit.js';
import { InFlightRequests } from './in-flight-requests.js';
import type { KitRequest, KitResponse } from './kit-request.js';
import { PathRules, type PathRule } from './path-rules.js';
import { setSecurityHeaders } from './security-headers.js';
import type { ServiceEndpoints } from './service-endpoints.js';
import { TrustedProxies } from './trusted-proxies.js';

/** A route that may keep its caller waiting longer than the usual 10 s. */
export interface TimeoutRule extends PathRule {
  timeoutMs: number;
}

/** Routes whose errors are worded otherwise, also those found before the router: ceilings, limits, timeouts. */
export interface ErrorBodyRule extends PathRule {
  toBody: ToErrorBody;
}

export interface PipelineOptions {
  bodyLimits?: readonly BodyRule[];
  timeouts?: readonly TimeoutRule[];
  errorBodies?: readonly ErrorBodyRule[];
}

interface Parts {
  config: FleetConfig;
  health: HealthRegistry;
  limits: RateLimits;
  logger: Logger;
  times: RequestTimes;
  endpoints: ServiceEndpoints;
}

type Handler = (request: KitRequest, response: KitResponse, done: (error?: unknown) => void) => void;

/** @see CONTRACT.md 1.7 */
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Everything that happens to a request before Express sees it, in the order of CONTRACT.md 1.7, in one function: what
 * can be known once is known before the first request.
 */
export class Pipeline {
  readonly inFlight = new InFlightRequests((response) => this.late(response));
  private readonly proxies: TrustedProxies;
  private readonly cors: Cors;
  private readonly bodies: BodyReader;
  private readonly timeouts: PathRules<TimeoutRule>;
  private readonly errorBodies: PathRules<ErrorBodyRule>;
  private readonly globalLimit: GlobalLimit;
  private readonly accessLog: AccessLog;
  private readonly redirectTo?: string;
  private readonly onClose: (this: KitResponse) => void;

  /** @param next  Express */
  constructor(
    private readonly parts: Parts,
    options: PipelineOptions,
    private readonly next: Handler,
  ) {
    const { config, limits, logger } = parts;
    this.proxies = new TrustedProxies(config.trustedProxyCidrs);
    this.cors = new Cors(config.corsOrigins);
    this.bodies = new BodyReader(options.bodyLimits ?? []);
    this.timeouts = new PathRules(options.timeouts ?? []);
    this.errorBodies = new PathRules(options.errorBodies ?? []);
    this.globalLimit = new GlobalLimit(config, limits);
    this.accessLog = new AccessLog(logger);
    this.redirectTo = config.forceHttps ? `https://${new URL(config.publicApiUrl).host}` : undefined;
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- one listener for all responses: `this` inside is the response
    const pipeline = this;
    this.onClose = function onClose(this: KitResponse) {
      pipeline.finish(this);
    };
  }

  /** The listener of the HTTP server. */
  handle(request: KitRequest, response: KitResponse): void {
    this.receive(request, response);
    const { state } = this.parts.health;
    if (state === 'draining') response.setHeader('Connection', 'close');
    if (this.parts.endpoints.answer(request, response)) return;
    if (state === 'starting') return this.refuse(response, new UnavailableError());
    if (this.redirectTo !== undefined && !request.secure) return this.redirect(request, response);
    const complaint = decodes(request.pathname) ? this.bodies.complaint(request) : new NotFoundError();
    if (complaint) return this.refuseUnread(request, response, complaint);
    const counted = this.globalLimit.count(request);
    if (counted === undefined) return this.admitted(request, response);
    counted.then(
      () => this.admitted(request, response),
      (error: unknown) => this.refuseUnread(request, response, toDomainError(error)),
    );
  }

  private receive(request: KitRequest, response: KitResponse): void {
    const { headers } = request;
    const url = request.url ?? '/';
    const query = url.indexOf('?');
    const given = headers['x-request-id'];
    request.pathname = query === -1 ? url : url.slice(0, query);
    request.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    request.clientAddress = this.proxies.clientAddress(request);
    request.secure = this.proxies.isSecure(request);
    this.inFlight.add(response, { request, startedAt: performance.now(), deadlineAt: Infinity });
    response.on('close', this.onClose);
    response.setHeader('X-Request-Id', request.requestId);
    setSecurityHeaders(response, request.secure);
    this.cors.setHeaders(request, response);
  }

  private admitted(request: KitRequest, response: KitResponse): void {
    if (this.cors.answerPreflight(request, response)) return;
    this.bodies.read(request, (error) => {
      if (error) return this.refuseUnread(request, response, error);
      this.dispatch(request, response);
    });
  }

  private dispatch(request: KitRequest, response: KitResponse): void {
    const timeoutMs = this.timeouts.find(request.pathname)?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    if (response.inFlight) response.inFlight.deadlineAt = performance.now() + timeoutMs;
    runInContext(contextOf(request), () => {
      // only what lies outside /api/v1 comes back: Nest answers unknown routes inside
      this.next(request, response, (error) =>
        this.refuse(response, error ? toDomainError(error) : new NotFoundError()),
      );
    });
  }

  private redirect(request: KitRequest, response: KitResponse): void {
    response.statusCode = 308;
    response.setHeader('Location', `${this.redirectTo}${request.url}`);
    response.end();
  }

  private refuse(response: KitResponse, error: DomainError): void {
    const request = response.inFlight?.request;
    if (request === undefined) return;
    logError(this.parts.logger, error, request);
    writeError(response, error, request.requestId, this.errorBodies.find(request.pathname)?.toBody);
  }

  /**
   * The rest of the body is thrown away. Closing while a client still sends resets its connection, and it may never
   * read why; so only what is too long to be read to its end, or does not tell its length, loses the connection.
   */
  private refuseUnread(request: KitRequest, response: KitResponse, error: DomainError): void {
    const rest = Number(request.headers['content-length'] ?? Infinity);
    if (!request.complete && hasBody(request) && rest > MAX_DISCARDED_BYTES) response.setHeader('Connection', 'close');
    request.resume();
    this.refuse(response, error);
  }

  private late(response: KitResponse): void {
    if (response.headersSent) return;
    this.refuse(response, new UnavailableError(undefined, { logDetails: { reason: 'the request waited too long' } }));
  }

  private finish(response: KitResponse): void {
    const { inFlight } = response;
    this.inFlight.remove(response);
    if (inFlight === undefined) return;
    const { request, startedAt } = inFlight;
    const durationMs = performance.now() - startedAt;
    const status = response.writableFinished ? response.statusCode : 499;
    const route = routeOf(request);
    if (this.parts.endpoints.serves(request.pathname)) return;
    this.parts.times.observe(request.method ?? '', route ?? 'none', status, durationMs / 1_000);
    this.accessLog.write(request, route, status, durationMs);
  }
}

function contextOf(request: KitRequest): RequestContext {
  const { traceparent, 'user-agent': userAgent } = request.headers;
  return {
    requestId: request.requestId,
    traceparent: typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    ipAddress: request.clientAddress,
    userAgent,
    audited: false,
  };
}

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

/** The pattern of the matched route; the handler of unknown paths is none. */
function routeOf({ route }: KitRequest): string | undefined {
  const path = route?.path;
  return typeof path === 'string' && !path.includes('*') ? path : undefined;
}
