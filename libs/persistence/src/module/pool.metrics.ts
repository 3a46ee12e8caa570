import type { Pool } from 'pg';
import type { MetricsRegistry } from '@rmm/service-kit';
import type { Databases } from './databases.service.js';

/** Registers the gauges of the pools, which are read at each scrape. */
export function observePools(metrics: MetricsRegistry, databases: Databases): void {
  const { servicePool: service, workerPool: worker, platformPool: platform } = databases;
  const pools: readonly [string, Pool][] = Object.entries({ service, worker, platform });
  metrics.gauge({
    name: 'rmm_db_pool_connections',
    help: 'Open connections of a pool, in use or idle',
    labelNames: ['pool', 'state'],
    collect() {
      for (const [name, pool] of pools) {
        this.set({ pool: name, state: 'used' }, pool.totalCount - pool.idleCount);
        this.set({ pool: name, state: 'idle' }, pool.idleCount);
      }
    },
  });
  metrics.gauge({
    name: 'rmm_db_pool_limit',
    help: 'Number of connections that a pool may open',
    labelNames: ['pool'],
    collect() {
      for (const [name, pool] of pools) this.set({ pool: name }, pool.options.max);
    },
  });
  metrics.gauge({
    name: 'rmm_db_pool_waiting',
    help: 'Requests that wait for a connection of a pool',
    labelNames: ['pool'],
    collect() {
      for (const [name, pool] of pools) this.set({ pool: name }, pool.waitingCount);
    },
  });
}
