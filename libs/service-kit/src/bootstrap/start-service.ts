import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { FleetConfig } from '@rmm/config';
import type { ServiceName } from '@rmm/contracts';
import { StartRefusal } from '@rmm/errors';
import { HealthRegistry } from '../health/health-registry.service.js';
import { Logger } from '../logging/logger.service.js';
import { NestLogger } from '../logging/nest-logger.adapter.js';
import { MetricsRegistry } from '../metrics/metrics-registry.service.js';
import { type AppOptions, configureApp } from './configure-app.js';
import { Shutdown } from './shutdown.js';

export interface StartOptions extends AppOptions {
  service: ServiceName;
  /** Imports `ServiceKitModule.forRoot(config, service)`. */
  module: Type | DynamicModule;
  /** Connects microservices; they start listening after every `onModuleInit`, that is after migrations. */
  microservices?: (app: INestApplication) => void | Promise<void>;
}

/**
 * Starts a service: the port opens first (live, not ready), then modules initialize (migrations, connections), then
 * messages are consumed, then it is ready. SIGTERM and SIGINT stop it cleanly within the grace time.
 * @throws when a module cannot initialize; nothing is left open
 */
export async function startService(options: StartOptions): Promise<INestApplication> {
  const { config, module, service } = options;
  const startedAt = performance.now();
  const app = await NestFactory.create<NestExpressApplication>(module, {
    bodyParser: false,
    abortOnError: false,
    logger: new NestLogger(Logger.create({ service, level: config.logLevel })),
  });
  configureApp(app, options);
  const logger = app.get(Logger);
  const shutdown = new Shutdown(app, config);
  try {
    const server: Server = app.getHttpServer();
    await once(server.listen({ port: config.port, host: config.bindAddress }), 'listening');
    app.get(MetricsRegistry).collectProcessMetrics();
    await options.microservices?.(app);
    await app.init();
    await app.startAllMicroservices();
  } catch (error) {
    await app.close().catch((err: unknown) => logger.error({ err }, 'closing after a failed start failed'));
    throw error;
  }
  shutdown.onSignals();
  app.get(HealthRegistry).state = 'ready';
  logger.info({ port: config.port, startMs: Math.round(performance.now() - startedAt) }, 'ready');
  return app;
}

/** The options of a service that do not depend on its configuration; `main.ts` and the specs that start it share them. */
export interface ServiceOptions<C extends FleetConfig> extends Omit<StartOptions, 'module' | 'config'> {
  readConfig: (env: NodeJS.ProcessEnv) => Readonly<C>;
}

/** The root module of a service. */
export interface RootModule<C extends FleetConfig> {
  forRoot(config: Readonly<C>): DynamicModule;
}

/**
 * Starts a service with the configuration of an environment.
 * @throws ConfigError  listing every problem
 */
export function startFromEnvironment<C extends FleetConfig>(
  rootModule: RootModule<C>,
  { readConfig, ...options }: ServiceOptions<C>,
  env: NodeJS.ProcessEnv,
): Promise<INestApplication> {
  const config = readConfig(env);
  return startService({ ...options, config, module: rootModule.forRoot(config) });
}

/**
 * Starts the service of a `main.ts`. Ends the process with 1 when it cannot start: what an operator must correct
 * (configuration, a login with too many rights, an outdated schema) is one message, anything else has its stack.
 */
export async function bootstrap<C extends FleetConfig>(
  rootModule: RootModule<C>,
  options: ServiceOptions<C>,
): Promise<void> {
  try {
    await startFromEnvironment(rootModule, options, process.env);
  } catch (error) {
    console.error(error instanceof StartRefusal ? error.message : error);
    process.exit(1);
  }
}
