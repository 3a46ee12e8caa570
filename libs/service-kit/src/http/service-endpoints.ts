import type { NextFunction, Request, Response } from 'express';
import type { ReadinessService } from '../health/readiness.service.js';
import type { Logger } from '../logging/logger.js';
import type { MetricsRegistry } from '../metrics/metrics-registry.js';
import type { OpenApiDocuments } from '../openapi/openapi-documents.service.js';

type Endpoint = (response: Response) => Promise<void> | void;

interface EndpointSources {
  readiness: ReadinessService;
  metrics: MetricsRegistry;
  openApi: OpenApiDocuments;
  logger: Logger;
}

/**
 * The endpoints on the service's own port: health, metrics and its OpenAPI document. They work before the service has
 * started, need no credential, and are neither logged nor limited.
 */
export class ServiceEndpoints {
  private readonly endpoints: ReadonlyMap<string, Endpoint>;
  private readonly logger: Logger;

  /** @param servesOpenApi  false when the application serves `/openapi.json` itself */
  constructor({ readiness, metrics, openApi, logger }: EndpointSources, servesOpenApi: boolean) {
    this.logger = logger;
    const endpoints = new Map<string, Endpoint>([
      ['/health/live', (response) => void response.json({ status: 'ok' })],
      [
        '/health/ready',
        async (response) => {
          const body = await readiness.check();
          if (body.status !== 'ok') response.status(503).set('Retry-After', '1');
          response.json(body);
        },
      ],
      ['/metrics', async (response) => void response.type(metrics.contentType).send(await metrics.text())],
    ]);
    if (servesOpenApi) endpoints.set('/openapi.json', (response) => void response.json(openApi.own()));
    this.endpoints = endpoints;
  }

  readonly handle = (request: Request, response: Response, next: NextFunction): void => {
    const endpoint = this.endpoints.get(request.path);
    if (endpoint === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return next();
    request.resume();
    response.set('Cache-Control', 'no-store');
    void this.respond(endpoint, request.path, response);
  };

  private async respond(endpoint: Endpoint, path: string, response: Response): Promise<void> {
    try {
      await endpoint(response);
    } catch (err) {
      this.logger.error({ err, path }, 'service endpoint failed');
      response.status(503).set('Retry-After', '1').json({ status: 'unavailable' });
    }
  }
}
