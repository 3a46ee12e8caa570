import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Logger } from '../logging/logger.service.js';
import { MetricsRegistry } from '../metrics/metrics-registry.service.js';
import type { AuthenticatedRequest, KitResponse } from './kit-request.types.js';

const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The client closed the connection before the response was complete. */
const CLIENT_CLOSED_REQUEST = 499;

/** Writes the access log and the metrics of each request when its response is closed. */
@Injectable()
export class RequestObserver {
  private readonly durations;
  private readonly inFlight;

  constructor(
    private readonly logger: Logger,
    metrics: MetricsRegistry,
  ) {
    this.durations = metrics.histogram({
      name: 'rmm_http_request_duration_seconds',
      help: 'Duration of requests in seconds',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS_SECONDS,
    });
    this.inFlight = metrics.gauge({
      name: 'rmm_http_requests_in_flight',
      help: 'Requests that have no complete response yet',
    });
  }

  observe(request: AuthenticatedRequest, response: Response & KitResponse): void {
    const startedAt = performance.now();
    this.inFlight.inc();
    response.on('close', () => {
      this.inFlight.dec();
      this.record(request, response, performance.now() - startedAt);
    });
  }

  /** Logs the route, not the path: paths and queries may carry tokens. An unknown route shows its path, cut. */
  private record(request: AuthenticatedRequest, response: KitResponse, durationMs: number): void {
    const { method = '', requestId, clientAddress: ip, caller } = request;
    const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST;
    const path = request.route?.path; // the handler of unknown paths has none
    const route = typeof path === 'string' && !path.includes('*') ? path : undefined;
    this.durations.observe({ method, route: route ?? 'none', status }, durationMs / 1_000);
    this.logger.access({
      requestId,
      method,
      ...(route === undefined ? { path: request.pathname.slice(0, 200) } : { route }),
      status,
      durationMs: Math.round(durationMs * 100) / 100,
      ip,
      code: response.errorCode,
      userId: caller?.userId,
      partnerId: caller?.partnerId ?? undefined,
      orgId: caller?.orgId ?? undefined,
    });
  }
}
