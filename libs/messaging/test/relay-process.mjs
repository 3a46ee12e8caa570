// Runs an outbox relay until it is killed. Environment: WORKER_DATABASE_URL, NATS_URL.
import pg from 'pg';
import { WorkerDatabase } from '@rmm/persistence';
import { HealthRegistry, MetricsRegistry } from '@rmm/service-kit';
import { MessagingMetrics, NatsLink, OutboxRelay, OutboxRepository } from '../dist/index.js';

const pool = new pg.Pool({
  connectionString: process.env.WORKER_DATABASE_URL,
  max: 3,
  options: '-c search_path=provisioning',
  pipeline: true,
});
const link = new NatsLink({ url: process.env.NATS_URL, name: 'provisioning' });
await link.open();
const metrics = new MessagingMetrics(new MetricsRegistry('provisioning'));
const relay = new OutboxRelay(
  new OutboxRepository(new WorkerDatabase({ workerPool: pool })),
  link,
  metrics,
  { relay: { batchSize: 100, window: 4, leaseMs: 2_000, pollMs: 100 } },
  new HealthRegistry(),
);
relay.start();
