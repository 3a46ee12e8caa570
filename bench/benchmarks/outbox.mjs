// ./fleet bench outbox: draining a backlog of committed rows into JetStream, against two baselines of the bare client.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchStores, lib, moduleOf } from '../support/built-code.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const SERVICE = 'provisioning';
const SUBJECT = 'rmm.internal.provisioning.bench.event';
const BACKLOG = isQuick ? 10_000 : 100_000;
const AWAITED = isQuick ? 1_000 : 5_000;
const WINDOWED = isQuick ? 10_000 : 50_000;
const IN_FLIGHT = 256;
const ROUNDS = isQuick ? 1 : 3;
const COMMIT_SECONDS = isQuick ? 1 : 3;
const COMMITTERS = 8;

const { stores, database, env } = await benchStores(SERVICE);
const { readConfig, readFleetConfig, ServiceKitModule } = await lib('service-kit');
const { PersistenceModule, WorkerDatabase } = await lib('persistence');
const { MessagingModule, NatsLink, Outbox, OutboxRelay } = await lib('messaging');
const { dropMessagingTables, messagingTables } = await lib('messaging', 'testing/index.js');

class AddMessaging1 {
  name = 'AddMessaging1767225600000';
  up = messagingTables;
  down = dropMessagingTables;
}
const config = readConfig(env, (v) => readFleetConfig(v, SERVICE));
const app = await NestFactory.createApplicationContext(
  await moduleOf({
    imports: [
      ServiceKitModule.forRoot(config, SERVICE),
      PersistenceModule.forRoot({ config, schema: SERVICE, entities: [], migrations: [AddMessaging1] }),
      MessagingModule.forRoot({ config, service: SERVICE }),
    ],
  }),
  { logger: ['error'] },
);
const admin = new pg.Client({ connectionString: database.adminUrl });
await admin.connect();
const jetstream = app.get(NatsLink).connection.jetstream();
const payload = JSON.stringify(envelope(randomUUID()));
const perSecond = (count, startedAt) => count / ((performance.now() - startedAt) / 1000);

const rates = { awaited: [], windowed: [], relay: [] };
try {
  for (let round = 0; round < ROUNDS; round++) {
    rates.awaited.push(await publishAwaited());
    rates.windowed.push(await publishWindowed());
    rates.relay.push(await drainBacklog());
  }
  const commits = await commitEvents();
  print(commits);
} finally {
  await admin.end();
  await app.close();
  await stores.stop();
}

function envelope(id) {
  return {
    id,
    type: 'site.updated',
    schemaVersion: 1,
    timestamp: new Date().toISOString(),
    partnerId: randomUUID(),
    orgId: randomUUID(),
    aggregateId: id,
    aggregateVersion: 1,
    correlationId: randomUUID(),
    data: { name: 'Blue Bakery', status: 'active', note: 'x'.repeat(300) },
  };
}

/** Baseline: one publish after another. */
async function publishAwaited() {
  const startedAt = performance.now();
  for (let count = 0; count < AWAITED; count++) await jetstream.publish(SUBJECT, payload, { msgID: randomUUID() });
  return perSecond(AWAITED, startedAt);
}

/** Baseline: the bare client with a window. */
async function publishWindowed() {
  const startedAt = performance.now();
  let left = WINDOWED;
  const loop = async () => {
    while (left-- > 0) await jetstream.publish(SUBJECT, payload, { msgID: randomUUID() });
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
  return perSecond(WINDOWED, startedAt);
}

/** Measures from the commit of the backlog until the outbox is empty. */
async function drainBacklog() {
  const before = await streamed();
  await admin.query(
    `insert into ${SERVICE}.outbox (id, aggregate_id, subject, payload)
     select gen_random_uuid(), 'a' || (n % 5000), $1, $2 from generate_series(1, $3::int) n`,
    [SUBJECT, payload, BACKLOG],
  );
  const startedAt = performance.now();
  app.get(OutboxRelay).wake();
  for (;;) {
    const { rows } = await admin.query(`select exists (select from ${SERVICE}.outbox) as waiting`);
    if (!rows[0].waiting) break;
    await sleep(20);
  }
  const rate = perSecond(BACKLOG, startedAt);
  const arrived = (await streamed()) - before;
  if (arrived !== BACKLOG) throw new Error(`${arrived} of ${BACKLOG} rows reached the stream`);
  return rate;
}

async function streamed() {
  const manager = await app.get(NatsLink).connection.jetstreamManager();
  return (await manager.streams.info('RMM_INTERNAL')).state.last_seq;
}

/** Measures how fast events are committed, one per transaction, while the relay works. */
async function commitEvents() {
  const [worker, outbox] = [app.get(WorkerDatabase), app.get(Outbox)];
  const startedAt = performance.now();
  let count = 0;
  const committer = async () => {
    while (performance.now() - startedAt < COMMIT_SECONDS * 1000) {
      const id = randomUUID();
      const { data } = envelope(id);
      const event = { stream: 'internal', type: 'site.updated', aggregateId: id, partnerId: null, orgId: null, data };
      await worker.transaction((tx) => outbox.publish(tx, event));
      count++;
    }
  };
  await Promise.all(Array.from({ length: COMMITTERS }, committer));
  return perSecond(count, startedAt);
}

function print(commits) {
  const awaited = median(rates.awaited);
  const windowed = median(rates.windowed);
  const relay = median(rates.relay);
  const arm = (name, rate) => ({
    arm: name,
    'messages/s': Math.round(rate),
    'x awaited': rate / awaited,
    'x windowed': rate / windowed,
  });
  report(
    {
      name: 'outbox',
      arms: [
        arm('bare client, each publish awaited', awaited),
        arm(`bare client, ${IN_FLIGHT} in flight`, windowed),
        arm(`relay, backlog of ${BACKLOG.toLocaleString('en')} rows`, relay),
      ],
      targets: [
        target('relay against awaiting each publish', relay / awaited, '>=', 2.5),
        target(`relay against ${IN_FLIGHT} in flight`, relay / windowed, '>=', 0.4),
      ],
      notes: [
        `Events committed, one a transaction, ${COMMITTERS} callers: ${Math.round(commits).toLocaleString('en')}/s`,
      ],
    },
    process.argv,
  );
}
