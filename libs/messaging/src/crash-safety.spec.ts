import { nanos } from 'nats';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, storedMessages, type MessagingTestApp } from '../test/messaging-test-app.js';
import { ensureStreams } from './index.js';

const PROJECT = path.join(__dirname, '..');

/** Runs the built code in processes that are ended with SIGKILL, so that they cannot clean up. */
describe('after SIGKILL', () => {
  let testApp: MessagingTestApp;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    const tsc = require.resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-b', path.join(PROJECT, 'tsconfig.lib.json')], { stdio: 'inherit' });
    testApp = await startMessagingTestApp();
    await ensureStreams(testApp.connection);
  }, 180_000);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await testApp.stop();
  });

  function start(script: string): ChildProcess {
    const env = { ...process.env, WORKER_DATABASE_URL: testApp.urls.worker, NATS_URL: testApp.nats.url };
    const child = spawn(process.execPath, [path.join(PROJECT, 'test', script)], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
    return child;
  }
  async function kill(child: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
  const stored = async () => {
    const manager = await testApp.connection.jetstreamManager();
    return (await manager.streams.info('RMM_INTERNAL')).state.messages;
  };
  const scalar = async (sql: string) => Number((await testApp.admin.query<{ n: string }>(sql)).rows[0].n);

  it('another relay publishes the rest of the backlog once and in order', async () => {
    const [rows, aggregates] = [3_000, 60];
    await testApp.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload)
       select gen_random_uuid(), 'a' || n % $2, 'rmm.internal.provisioning.counted',
              json_build_object('aggregateId', 'a' || n % $2, 'n', n)::text
       from generate_series(1, $1) n`,
      [rows, aggregates],
    );
    for (const share of [0.1, 0.4, 0.7]) {
      const relay = start('relay-process.mjs');
      await eventually(async () => expect(await stored()).toBeGreaterThan(rows * share), {
        timeoutMs: 20_000,
        everyMs: 1,
      });
      await kill(relay);
      expect(await scalar('select count(*) as n from outbox')).toBeGreaterThan(0);
    }
    const last = start('relay-process.mjs');
    await eventually(async () => expect(await scalar('select count(*) as n from outbox')).toBe(0), {
      timeoutMs: 30_000,
    });
    await kill(last);
    expect(await stored()).toBe(rows);
    const seen = new Map<string, number>();
    for (const { body } of await storedMessages(testApp.connection, 'RMM_INTERNAL')) {
      const [aggregate, n] = [body.aggregateId as string, body.n as number];
      expect(n).toBeGreaterThan(seen.get(aggregate) ?? 0);
      seen.set(aggregate, n);
    }
  }, 120_000);

  it('another consumer handles the remaining messages, each with one effect', async () => {
    const messages = 600;
    const manager = await testApp.connection.jetstreamManager();
    // Messages that a killed process has not acknowledged are delivered again after this time.
    await manager.consumers.update('RMM_INTERNAL', 'provisioning-internal', { ack_wait: nanos(1_500) });
    for (let n = 0; n < messages; n++) {
      const id = randomUUID();
      const envelope = {
        id,
        type: 'partner.updated',
        timestamp: new Date().toISOString(),
        aggregateId: `p${n % 20}`,
        data: { n },
      };
      await testApp.connection
        .jetstream()
        .publish('rmm.internal.identity.partner.updated', JSON.stringify(envelope), { msgID: id });
    }
    const effects = () => scalar('select count(*) as n from effect');
    for (const share of [0.2, 0.5, 0.8]) {
      const consumer = start('consumer-process.mjs');
      await eventually(async () => expect(await effects()).toBeGreaterThan(messages * share), {
        timeoutMs: 20_000,
        everyMs: 1,
      });
      await kill(consumer);
      expect(await effects()).toBeLessThan(messages);
    }
    const last = start('consumer-process.mjs');
    await eventually(async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info('RMM_INTERNAL', 'provisioning-internal');
      expect(num_pending + num_ack_pending).toBe(0);
    });
    await kill(last);
    expect(await effects()).toBe(messages);
    expect(await scalar('select count(distinct id) as n from effect')).toBe(messages);
  }, 120_000);
});
