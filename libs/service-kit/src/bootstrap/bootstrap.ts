import type { DynamicModule, INestApplication } from '@nestjs/common';
import type { FleetConfig } from '../config/fleet-config.js';
import { StartRefusal } from '../errors/start-refusal.js';
import { type StartOptions, startService } from './start-service.js';

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
