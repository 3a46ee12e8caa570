import path from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Imports a built lib, or a file of it. */
export const lib = (name, file = 'index.js') => import(pathToFileURL(path.join(ROOT, 'libs', name, 'dist', file)));

/** Imports a file of a built service. */
export const built = (service, file) => import(pathToFileURL(path.join(ROOT, 'apps', service, 'dist', file)));

/** Creates a Nest module without decorator syntax, which plain JavaScript does not have. */
export async function moduleOf(metadata) {
  const { Module } = await import('@nestjs/common');
  class BenchModule {}
  Module(metadata)(BenchModule);
  return BenchModule;
}

/**
 * Starts private stores with the schemas of some services, and returns the environment of the first.
 * @param {string} service  the service whose environment is returned
 * @param {string[]} others  services that run next to it; `envOf(service)` returns their environment
 */
export async function benchStores(service, others = []) {
  const { startStores } = await lib('testing-services');
  const stores = await startStores();
  const database = await stores.createDatabase([service, ...others].map(schemaOf));
  const nats = await stores.nats();
  const envOf = (name) => {
    const { owner, service: login, worker } = database.urls[schemaOf(name)];
    return {
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      DATABASE_URL: login,
      WORKER_DATABASE_URL: worker,
      MIGRATIONS_DATABASE_URL: owner,
      REDIS_URL: stores.redisUrl,
      NATS_URL: nats.adminUrl ?? nats.url,
      IS_HOSTED: 'false',
      DB_POOL_MAX: '8',
    };
  };
  return { stores, database, schema: schemaOf(service), nats, env: envOf(service), envOf };
}

const schemaOf = (service) => service.replaceAll('-', '_');
