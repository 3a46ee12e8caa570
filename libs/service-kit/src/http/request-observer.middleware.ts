import { Inject, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { FleetConfig } from '@rmm/config';
import { endServerSpan, isSampled, startServerSpan, traceIdOf, traceparentOf } from '@rmm/tracing';
import { Logger } from '../logging/logger.service.js';
import { MetricsRegistry } from '../metrics/metrics-registry.service.js';
import { FLEET_CONFIG } from '../tokens.js';
import type { AuthenticatedRequest, KitResponse } from './kit-request.types.js';
import { loggedPath } from './logged-path.js';
import { routeClassOf } from './route-class.js';

const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The client closed the connection before the response was complete. */
const CLIENT_CLOSED_REQUEST = 499;
const MAX_USER_AGENT = 200;

interface Measured {
  durationMs: number;
  /** Head and body of the response. */
  responseBytes: number;
  isBulk: boolean;
}

/** Writes the access log, the metrics and the span of each request when its response is closed. */
@Injectable()
export class RequestObserver {
  private readonly hasExemplars: boolean;
  private readonly requests;
  private readonly durations;
  private readonly inFlight;

  constructor(
    private readonly logger: Logger,
    @Inject(FLEET_CONFIG) config: FleetConfig,
    metrics: MetricsRegistry,
  ) {
    this.hasExemplars = config.otlpEndpoint !== undefined;
    if (this.hasExemplars) metrics.useOpenMetrics();
    this.requests = metrics.counter({
      name: 'rmm_http_requests_total',
      help: 'Requests whose response is complete, or was given up by the client (status 499)',
      labelNames: ['class', 'method', 'route', 'status'],
    });
    this.durations = metrics.histogram({
      name: 'rmm_http_request_duration_seconds',
      help: 'Duration of requests in seconds',
      labelNames: ['class', 'method', 'route'],
      buckets: BUCKETS_SECONDS,
      enableExemplars: this.hasExemplars,
    });
    this.inFlight = metrics.gauge({
      name: 'rmm_http_requests_in_flight',
      help: 'Requests that have no complete response yet',
    });
  }

  /** @param isBulk  true for a route that may take longer than others */
  observe(request: AuthenticatedRequest, response: Response & KitResponse, isBulk: boolean): void {
    const startedAt = performance.now();
    const { socket } = request; // the response loses its own when it is complete
    const writtenBefore = socket.bytesWritten;
    this.inFlight.inc();
    const { method = '', headers, requestId } = request;
    const parent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined;
    request.span = startServerSpan(method, parent, requestId);
    request.traceparent = traceparentOf(request.span);
    response.on('close', () => {
      this.inFlight.dec();
      const responseBytes = socket.bytesWritten - writtenBefore;
      this.record(request, response, { durationMs: performance.now() - startedAt, responseBytes, isBulk });
    });
  }

  /** Logs the route, not the path: paths and queries may carry tokens. An unknown route shows the words of its path. */
  private record(request: AuthenticatedRequest, response: KitResponse, measured: Measured): void {
    const { method = '', requestId, clientAddress: ip, caller, headers } = request;
    const { durationMs, responseBytes, isBulk } = measured;
    const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST;
    const path = request.route?.path; // the handler of unknown paths has none
    const route = typeof path === 'string' && !path.includes('*') ? path : undefined;
    const labels = {
      class: routeClassOf(method, route, isBulk),
      method: labelOfMethod(method),
      route: route ?? 'none',
    };
    this.requests.inc({ ...labels, status });
    const { span, traceparent } = request;
    const traceId = traceIdOf(traceparent);
    const exemplarLabels: object | undefined = isSampled(traceparent) ? { trace_id: traceId } : undefined;
    if (this.hasExemplars) this.durations.observe({ labels, value: durationMs / 1_000, exemplarLabels });
    else this.durations.observe(labels, durationMs / 1_000);
    const tenant = { partnerId: caller?.partnerId ?? undefined, orgId: caller?.orgId ?? undefined };
    if (span) endServerSpan(span, { method, route, status, errorCode: response.errorCode, ...tenant });
    this.logger.access({
      requestId,
      traceId,
      method,
      ...(route === undefined ? { path: loggedPath(request.pathname) } : { route }),
      status,
      durationMs: Math.round(durationMs * 100) / 100,
      requestBytes: numberOf(headers['content-length']),
      responseBytes,
      ip,
      userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT),
      code: response.errorCode,
      userId: caller?.userId,
      ...(caller && caller.userId === undefined && { actorType: caller.actor.type, actorId: caller.actor.id }),
      ...tenant,
    });
  }
}

const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/** Clients may send any of the methods that Node parses; the others share one label value. */
const labelOfMethod = (method: string): string => (METHODS.has(method) ? method : 'other');

/** A request without a body, or with one of unknown length, has no such header. */
const numberOf = (length: string | undefined): number | undefined =>
  length === undefined ? undefined : Number(length);
