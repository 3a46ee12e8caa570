import { RequestMethod } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Response } from 'express';
import type { Server } from 'node:http';
import type { FleetConfig } from '@rmm/config';
import { API_PREFIX } from '@rmm/contracts';
import { OpenApiDocuments, type OpenApiInfo } from '@rmm/openapi';
import { DtoValidationPipe } from '@rmm/validation';
import { ErrorFilter } from '../errors/error.filter.js';
import { encodingFor, endCompressed } from '../http/compression.js';
import { matchesEntityTag } from '../http/entity-tag.js';
import { type PipelineOptions, RequestPipeline } from '../http/request-pipeline.middleware.js';
import { ServiceEndpoints } from '../http/service-endpoints.middleware.js';
import { refuseUnparsed } from '../http/unparsed-request.js';
import { Logger } from '../logging/logger.service.js';
import { NestLogger } from '../logging/nest-logger.adapter.js';

export interface AppOptions extends PipelineOptions {
  config: FleetConfig;
  openApi: OpenApiInfo;
  /** Exact paths of controllers outside /api/v1, such as `docs` and `openapi.json`. */
  unprefixed?: readonly string[];
}

/** Idle connections outlive those of the proxies before us, so that no request meets a closing one; in milliseconds. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 20_000;

/**
 * Configures an application like every service: pipeline, validation, errors and OpenAPI. `startService` calls it; app
 * specs call it on `module.createNestApplication<NestExpressApplication>({ bodyParser: false })` and then `app.init()`.
 * The module must import `ServiceKitModule`.
 */
export function configureApp(app: NestExpressApplication, options: AppOptions): void {
  const { config, unprefixed = [] } = options;
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.getHttpAdapter().getInstance().response.json = writeJson;
  app.setGlobalPrefix(API_PREFIX.slice(1), {
    exclude: unprefixed.map((path) => ({ path, method: RequestMethod.ALL })),
  });
  app.useGlobalPipes(new DtoValidationPipe());
  app.useGlobalFilters(new ErrorFilter(logger));
  app.get(OpenApiDocuments).from(app, options.openApi, config.publicApiUrl);
  for (const path of unprefixed) app.get(ServiceEndpoints).remove(`/${path}`);
  app.get(RequestPipeline).install(app, options);
  configureServer(app.getHttpServer());
}

function configureServer(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.on('clientError', refuseUnparsed);
}

/**
 * Replaces `response.json` of Express, which parses the content type to add a charset and computes an ETag of every body, at
 * a tenth of a request's CPU. A GET route that sets an ETag gets 304 for a matching `If-None-Match`, one with `@Compressed()` is
 * compressed. A Buffer is JSON already.
 * @see docs/decisions/0019-request-pipeline.md
 */
function writeJson(this: Response, body: unknown): Response {
  const tag = this.getHeader('ETag');
  const isUnchanged = typeof tag === 'string' && matchesEntityTag(this.req.headers['if-none-match'], tag);
  if (isUnchanged && this.statusCode === 200 && ['GET', 'HEAD'].includes(this.req.method)) {
    this.statusCode = 304;
    return this.end();
  }
  const text = Buffer.isBuffer(body) ? body : JSON.stringify(body);
  if (!this.hasHeader('Content-Type')) this.setHeader('Content-Type', 'application/json; charset=utf-8');
  const encoding = encodingFor(this, text.length);
  if (encoding !== undefined) {
    void endCompressed(this, text, encoding);
    return this;
  }
  if (this.statusCode !== 204 && this.statusCode !== 304) this.setHeader('Content-Length', Buffer.byteLength(text));
  return this.end(text);
}
