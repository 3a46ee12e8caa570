// Consumes integration events slowly, each with one effect, until it is killed. Environment: WORKER_DATABASE_URL, NATS_URL.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { WorkerDatabase } from '@rmm/persistence';
import { MetricsRegistry } from '@rmm/service-kit';
import {
  DeadLetterMessagesRepository,
  DeadLetterMessagesService,
  Inbox,
  JetStreamServer,
  MessagingMetrics,
  NatsLink,
} from '../dist/index.js';

const pool = new pg.Pool({
  connectionString: process.env.WORKER_DATABASE_URL,
  max: 6,
  options: '-c search_path=provisioning',
  pipeline: true,
});
const worker = new WorkerDatabase({ workerPool: pool });
const link = new NatsLink({ url: process.env.NATS_URL, name: 'provisioning' });
const metrics = new MessagingMetrics(new MetricsRegistry('provisioning'));
const subjects = ['rmm.internal.identity.partner.updated'];
const server = new JetStreamServer(
  link,
  new DeadLetterMessagesService(new DeadLetterMessagesRepository(worker)),
  metrics,
  {
    service: 'provisioning',
    concurrency: 4,
  },
);
const inbox = new Inbox(worker, { service: 'provisioning' });
server.addHandler(
  subjects[0],
  async (envelope) => {
    await sleep(2);
    await inbox.once(envelope, (tx) => tx.query('insert into effect (id) values ($1)', [envelope.id]));
    await sleep(2); // killed here, the effect is committed and the message is not acknowledged: it must not be applied again
  },
  true,
);
await server.listen((error) => {
  if (error) throw error;
});
