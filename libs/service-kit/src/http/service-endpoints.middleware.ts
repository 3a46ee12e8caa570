import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { OpenApiDocuments } from '@rmm/openapi';
import { ReadinessService } from '../health/readiness.service.js';
import { Logger } from '../logging/logger.service.js';
import { MetricsRegistry } from '../metrics/metrics-registry.service.js';

/**
 * The endpoints on the service's own port: health, metrics and its OpenAPI document. They work before the service has
 * started, need no credential, and are neither logged nor limited.
 */
@Injectable()
export class ServiceEndpoints {
  private readonly endpoints = new Map<string, (response: Response) => unknown>([
    ['/health/live', (response) => response.json({ status: 'ok' })],
    ['/health/ready', (response) => this.respondReadiness(response)],
    ['/metrics', (response) => this.respondMetrics(response)],
    ['/openapi.json', (response) => response.json(this.openApi.own())],
  ]);

  constructor(
    private readonly readiness: ReadinessService,
    private readonly metrics: MetricsRegistry,
    private readonly openApi: OpenApiDocuments,
    private readonly logger: Logger,
  ) {}

  /** Leaves a path to the controllers of the service. */
  remove(path: string): void {
    this.endpoints.delete(path);
  }

  /** Responds and returns true when the request is for one of the endpoints. */
  handle(request: Request, response: Response): boolean {
    const { path } = request;
    const endpoint = this.endpoints.get(path);
    if (endpoint === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    request.resume();
    response.set('Cache-Control', 'no-store');
    void this.respond(path, response, endpoint);
    return true;
  }

  private async respond(path: string, response: Response, endpoint: (response: Response) => unknown): Promise<void> {
    try {
      await endpoint(response);
    } catch (err) {
      this.logger.error({ err, path }, 'service endpoint failed');
      response.status(503).set('Retry-After', '1').json({ status: 'unavailable' });
    }
  }

  private async respondReadiness(response: Response): Promise<void> {
    const body = await this.readiness.check();
    if (body.status !== 'ok') response.status(503).set('Retry-After', '1');
    response.json(body);
  }

  private async respondMetrics(response: Response): Promise<void> {
    const { registry } = this.metrics;
    response.type(registry.contentType).send(await registry.metrics());
  }
}
