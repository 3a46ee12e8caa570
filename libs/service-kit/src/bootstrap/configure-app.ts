import { type INestApplication, RequestMethod } from '@nestjs/common';
import type { FleetConfig } from '../config/fleet-config.js';
import { ErrorFilter } from '../errors/error.filter.js';
import { HealthRegistry } from '../health/health-registry.js';
import { Pipeline, type PipelineOptions } from '../http/pipeline.js';
import { API_PREFIX } from '../http/path-rules.js';
import { ServiceEndpoints } from '../http/service-endpoints.js';
import { RateLimits } from '../limits/rate-limits.service.js';
import { Logger } from '../logging/logger.js';
import { NestLogger } from '../logging/nest-logger.js';
import { MetricsRegistry } from '../metrics/metrics-registry.js';
import { RequestTimes } from '../metrics/request-times.js';
import { OpenApiDocuments, type OpenApiInfo } from '../openapi/openapi-documents.js';
import { DtoValidationPipe } from '../validation/dto-validation.pipe.js';
import { KitAdapter } from './kit-adapter.js';

export interface AppOptions extends PipelineOptions {
  config: FleetConfig;
  openApi: OpenApiInfo;
  /** Exact paths of controllers that stand outside /api/v1, such as `docs` and `openapi.json`. */
  unprefixed?: readonly string[];
}

/**
 * Makes an application answer as every service does. `startService` calls it; app specs call it on
 * `module.createNestApplication(new KitAdapter(), { bodyParser: false })` and then `app.init()`.
 * The module must import `ServiceKitModule`.
 */
export function configureApp(app: INestApplication, options: AppOptions): Pipeline {
  const adapter = app.getHttpAdapter() as unknown;
  if (!(adapter instanceof KitAdapter)) throw new Error('configureApp needs an application made with KitAdapter');
  const { unprefixed = [] } = options;
  const logger = app.get(Logger);
  const health = app.get(HealthRegistry);
  const openApi = app.get(OpenApiDocuments);
  app.useLogger(new NestLogger(logger));
  app.setGlobalPrefix(API_PREFIX.slice(1), {
    exclude: unprefixed.map((path) => ({ path, method: RequestMethod.ALL })),
  });
  app.useGlobalPipes(new DtoValidationPipe());
  app.useGlobalFilters(new ErrorFilter(logger));
  openApi.from(app, options.openApi, options.config.publicApiUrl);
  const openApiPath = unprefixed.includes('openapi.json') ? null : '/openapi.json';
  const metrics = app.get(MetricsRegistry);
  const pipeline = new Pipeline(
    {
      config: options.config,
      health,
      limits: app.get(RateLimits),
      logger,
      times: new RequestTimes(metrics),
      endpoints: new ServiceEndpoints(health, metrics, openApi, logger, openApiPath),
    },
    options,
    adapter.express,
  );
  metrics.gauge({
    name: 'rmm_http_requests_in_flight',
    help: 'Requests being answered now',
    collect() {
      this.set(pipeline.inFlight.size);
    },
  });
  adapter.listener = (request, response) => pipeline.handle(request, response);
  return pipeline;
}
