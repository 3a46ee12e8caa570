export { FixedClock } from './fixed-clock.js';
export { eventually, type Patience } from './eventually.js';
export { FLEET_ENVIRONMENT } from './fleet-environment.js';
export type { TcpProxy } from './tcp-proxy.js';
export { freePort } from './local-server.js';
export { type Stores, startStores } from './stores.js';
export { adminPool, type SchemaUrls, type TestDatabase } from './test-database.js';
export type { NatsOptions, TestNats } from './test-nats.js';
export type { TestRedis } from './test-redis.js';
