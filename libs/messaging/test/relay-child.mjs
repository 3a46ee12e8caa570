// A process with nothing but an outbox relay, to be killed. Environment: WORKER_DATABASE_URL, NATS_URL.
import { WorkerDatabase } from '@rmm/persistence';
import { MetricsRegistry } from '@rmm/service-kit';
import pg from 'pg';
import { MessagingMetrics, NatsLink, OutboxRelay } from '../dist/index.js';

const pool = new pg.Pool({
  connectionString: process.env.WORKER_DATABASE_URL,
  max: 3,
  options: '-c search_path=provisioning',
  pipeline: true,
});
const link = new NatsLink({ url: process.env.NATS_URL, name: 'provisioning' });
await link.open();
const metrics = new MessagingMetrics(new MetricsRegistry('provisioning'));
const relay = new OutboxRelay(new WorkerDatabase({ workerPool: pool }), link, metrics, {
  batchSize: 100,
  window: 4,
  leaseMs: 2_000,
  pollMs: 100,
});
relay.start();
