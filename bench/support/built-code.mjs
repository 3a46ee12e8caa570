import path from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** One of our libs as it was built, or a file of it. */
export const lib = (name, file = 'index.js') => import(pathToFileURL(path.join(ROOT, 'libs', name, 'dist', file)));

/** A file of one of our services as it was built. */
export const built = (service, file) => import(pathToFileURL(path.join(ROOT, 'apps', service, 'dist', file)));

/** A class as a Nest module, without the decorator syntax that plain JavaScript lacks. */
export async function moduleOf(metadata) {
  const { Module } = await import('@nestjs/common');
  class BenchModule {}
  Module(metadata)(BenchModule);
  return BenchModule;
}

/**
 * Private stores with one schema, or with some, and the environment of a service on them.
 * @param {string} service  whose schema and logins to take
 * @param {string[]} others  services that run beside it; `envOf(service)` is theirs
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
