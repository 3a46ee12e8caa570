import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { randomUUID } from 'node:crypto';
import type { FleetConfig } from '@rmm/config';
import { type DomainError, NotFoundError, UnavailableError, toDomainError } from '@rmm/errors';
import { GlobalLimit } from '@rmm/rate-limits';
import { type RequestContext, runInContext } from '../context/request-context.js';
import { RequestDeadline } from '../context/request-deadline.js';
import { logError, type ToErrorBody, writeError } from '../errors/error.filter.js';
import { HealthRegistry } from '../health/health-registry.service.js';
import { Logger } from '../logging/logger.service.js';
import { FLEET_CONFIG } from '../tokens.js';
import { BodyReader, type BodyRule, hasBody } from './body.middleware.js';
import { resolveClientAddress, trustProxies } from './client-address.js';
import { corsHeaders, setSecurityHeaders } from './headers.middleware.js';
import type { KitRequest, KitResponse } from './kit-request.types.js';
import { PathRules, type PathRule } from './path-rules.js';
import { RequestObserver } from './request-observer.middleware.js';
import { ServiceEndpoints } from './service-endpoints.middleware.js';

/** A route that may keep its caller waiting longer than the usual 10 s. */
export interface TimeoutRule extends PathRule {
  timeoutMs: number;
}

/** Routes with other error bodies, also for errors before the router: body limits, rate limits, timeouts. */
export interface ErrorBodyRule extends PathRule {
  toBody: ToErrorBody;
  /** `application/json` unless named. */
  contentType?: string;
}

export interface PipelineOptions {
  bodyLimits?: readonly BodyRule[];
  timeouts?: readonly TimeoutRule[];
  errorBodies?: readonly ErrorBodyRule[];
}

type Req = Request & KitRequest;
type Res = Response & KitResponse;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The Express middleware before Nest's router, in the order of docs/reference/requests.md. */
@Injectable()
export class RequestPipeline implements OnApplicationBootstrap {
  private bodies = new BodyReader();
  private timeouts = new PathRules<TimeoutRule>([]);
  private errorBodies = new PathRules<ErrorBodyRule>([]);
  private readonly trusts: (address: string) => boolean;
  private readonly setCorsHeaders: ReturnType<typeof corsHeaders>;

  constructor(
    @Inject(FLEET_CONFIG) private readonly config: FleetConfig,
    private readonly host: HttpAdapterHost,
    private readonly logger: Logger,
    private readonly health: HealthRegistry,
    private readonly observer: RequestObserver,
    private readonly endpoints: ServiceEndpoints,
    private readonly globalLimit: GlobalLimit,
  ) {
    this.trusts = trustProxies(config.trustedProxyCidrs);
    this.setCorsHeaders = corsHeaders(config.corsOrigins);
  }

  install(app: NestExpressApplication, { bodyLimits, timeouts = [], errorBodies = [] }: PipelineOptions): void {
    this.bodies = new BodyReader(bodyLimits);
    this.timeouts = new PathRules(timeouts);
    this.errorBodies = new PathRules(errorBodies);
    app.set('trust proxy', this.trusts);
    app.use((request: Req, response: Res, next: NextFunction) => this.handle(request, response, next));
  }

  /** Refuses, after all routes, what none has outside of /api/v1; Nest does so inside. */
  onApplicationBootstrap(): void {
    this.host.httpAdapter?.use((request: Req, response: Res) => this.refuse(request, response, new NotFoundError()));
  }

  private async handle(request: Req, response: Res, next: NextFunction): Promise<void> {
    this.identify(request, response);
    setSecurityHeaders(request, response);
    this.setCorsHeaders(request, response);
    if (this.endpoints.handle(request, response)) return;
    const timeout = this.timeouts.find(request.pathname);
    this.observer.observe(request, response, timeout !== undefined);
    try {
      if (this.health.state === 'starting') throw new UnavailableError();
      if (this.config.forceHttps && !request.secure) {
        const { host } = new URL(this.config.publicApiUrl);
        return response.redirect(308, `https://${host}${request.originalUrl}`);
      }
      if (!decodes(request.pathname)) throw new NotFoundError();
      this.bodies.checkHeaders(request);
      await this.globalLimit.count(request);
      if (isPreflight(request)) return void response.status(204).end();
      const reading = this.bodies.read(request, response);
      if (reading) await reading;
    } catch (failure) {
      return this.refuseUnread(request, response, toDomainError(failure));
    }
    const deadline = this.limitTime(request, response, timeout?.timeoutMs);
    runInContext({ ...contextOf(request), deadline }, next);
  }

  private identify(request: Req, response: Res): void {
    const { 'x-request-id': given, 'x-forwarded-proto': protocols } = request.headers;
    request.pathname = request.path;
    request.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    // Express reads the first word; only the last one was written by the proxy that we trust.
    if (protocols?.includes(',')) request.headers['x-forwarded-proto'] = String(protocols).split(',').at(-1)?.trim();
    request.clientAddress = resolveClientAddress(request, this.trusts(request.socket.remoteAddress ?? ''));
    response.setHeader('X-Request-Id', request.requestId);
    if (this.health.state === 'draining') response.setHeader('Connection', 'close');
  }

  /** Returns the time limit of the request, which its transactions share. */
  private limitTime(request: Req, response: Res, timeoutMs = DEFAULT_TIMEOUT_MS): RequestDeadline {
    const deadline = new RequestDeadline(timeoutMs);
    let timer = setTimeout(() => {
      const logDetails = { reason: `no response within ${timeoutMs} ms` };
      if (response.headersSent) return;
      if (deadline.expire()) return this.refuse(request, response, new UnavailableError(undefined, { logDetails }));
      // Something is committed: 503 would be wrong. The connection is closed when the outcome does not follow either.
      timer = setTimeout(() => void (response.headersSent || response.destroy()), timeoutMs).unref();
    }, timeoutMs).unref();
    response.on('close', () => clearTimeout(timer));
    return deadline;
  }

  private refuse(request: Req, response: Res, error: DomainError): void {
    logError(this.logger, error, request);
    writeError(response, error, request.requestId, this.errorBodies.find(request.pathname));
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

function contextOf(request: Req): RequestContext {
  return {
    requestId: request.requestId,
    traceparent: request.traceparent,
    ipAddress: request.clientAddress,
    userAgent: request.headers['user-agent'],
  };
}

function isPreflight({ method, headers }: Req): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
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
