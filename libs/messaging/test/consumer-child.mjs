// A process that consumes facts slowly, each with one effect, to be killed. Environment: WORKER_DATABASE_URL, NATS_URL.
import { WorkerDatabase } from '@rmm/persistence';
import { MetricsRegistry } from '@rmm/service-kit';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Inbox, JetStreamServer, MessagingMetrics, NatsLink, DeadLetterMessages } from '../dist/index.js';

const pool = new pg.Pool({
  connectionString: process.env.WORKER_DATABASE_URL,
  max: 6,
  options: '-c search_path=provisioning',
  pipeline: true,
});
const worker = new WorkerDatabase({ workerPool: pool });
const link = new NatsLink({ url: process.env.NATS_URL, name: 'provisioning' });
const metrics = new MessagingMetrics(new MetricsRegistry('provisioning'));
const subjects = ['rmm.internal.identity.>'];
const server = new JetStreamServer(link, new DeadLetterMessages(worker), metrics, {
  service: 'provisioning',
  concurrency: 4,
  consumers: [{ stream: 'internal', durable: 'provisioning-internal', subjects, ackWaitMs: 1_500 }],
});
const inbox = new Inbox(worker, 'provisioning');
server.addHandler(
  subjects[0],
  async (envelope) => {
    await sleep(2);
    await inbox.once(envelope, (tx) => tx.query('insert into effect (id) values ($1)', [envelope.id]));
    await sleep(2); // the effect is committed, the message is not acknowledged: killed here, it must not happen again
  },
  true,
);
await server.listen((error) => {
  if (error) throw error;
});
