// Builds the OpenAPI and AsyncAPI documents from the compiled services, without starting them: Nest's preview mode reads
// modules and decorators and creates no provider, so that no store is needed.
import { NestFactory } from '@nestjs/core';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import 'reflect-metadata';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** The server of the released documents; a fleet shows its own address. */
export const PUBLIC_API_URL = 'https://api.fleet.example';

/** Addresses are never dialed. */
const ENVIRONMENT = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://service@127.0.0.1:1/rmm',
  MIGRATIONS_DATABASE_URL: 'postgres://owner@127.0.0.1:1/rmm',
  WORKER_DATABASE_URL: 'postgres://worker@127.0.0.1:1/rmm',
  REDIS_URL: 'redis://127.0.0.1:1',
  NATS_URL: 'nats://127.0.0.1:1',
  JWKS_URL: 'http://127.0.0.1:1/jwks.json',
  PUBLIC_API_URL,
  PUBLIC_APP_URL: PUBLIC_API_URL,
  SECRET_ENCRYPTION_KEY: '0123456789abcdef0123456789abcdef',
  MFA_RECOVERY_CODE_PEPPER: '0123456789abcdef0123456789abcdef',
  ENROLLMENT_KEY_PEPPER: '0123456789abcdef0123456789abcdef',
};

const load = (file) => import(pathToFileURL(path.join(ROOT, file)));

/** Returns the names of the services, those whose schema names are kept first. */
const serviceNames = () =>
  ['partner-gateway', 'identity', 'credentials', 'provisioning', 'webhook-dispatcher'].filter((name) =>
    fs.existsSync(path.join(ROOT, 'apps', name)),
  );

async function buildServiceDocument(service) {
  const { AppModule } = await load(`apps/${service}/dist/app.module.js`);
  const { serviceOptions } = await load(`apps/${service}/dist/service-options.js`);
  const { API_PREFIX } = await load('libs/contracts/dist/index.js');
  const { OpenApiDocuments } = await load('libs/openapi/dist/index.js');
  const { describeRouteAccess } = await load('libs/access/dist/route-access/describe-route-access.js');
  const config = serviceOptions.readConfig(ENVIRONMENT);
  const app = await NestFactory.create(AppModule.forRoot(config), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  app.setGlobalPrefix(API_PREFIX.slice(1));
  const documents = new OpenApiDocuments(new DiscoveryService(app.container.getModules()), new MetadataScanner());
  documents.describeOperations(describeRouteAccess);
  documents.from(app, serviceOptions.openApi, PUBLIC_API_URL);
  return documents.own();
}

/** Returns the document that a fleet serves at `/openapi.json`. */
export async function buildOpenApi() {
  const { mergeDocuments } = await load('apps/partner-gateway/dist/docs/merge-documents.js');
  const { documentHead } = await load('apps/partner-gateway/dist/docs/document-head.js');
  const documents = [];
  for (const name of serviceNames()) documents.push({ name, document: await buildServiceDocument(name) });
  return JSON.parse(JSON.stringify(mergeDocuments(documentHead(PUBLIC_API_URL), documents)));
}

/** Returns the document that a fleet serves at `/asyncapi.json`. */
export async function buildAsyncApi() {
  const { asyncApiDocument } = await load('apps/partner-gateway/dist/docs/async-api.js');
  return asyncApiDocument(PUBLIC_API_URL);
}
