/** A complete environment of a service, whose stores lead nowhere. */
export const FLEET_ENVIRONMENT = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'trace',
  PORT: '0',
  DATABASE_URL: 'postgres://service@127.0.0.1/none',
  WORKER_DATABASE_URL: 'postgres://worker@127.0.0.1/none',
  NATS_URL: 'nats://127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:1',
  PUBLIC_API_URL: 'https://api.fleet.example',
  PUBLIC_APP_URL: 'https://app.fleet.example',
};
