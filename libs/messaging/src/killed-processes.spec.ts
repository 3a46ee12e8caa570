import { eventually } from '@rmm/testing-services';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { startFixture, storedMessages, type Fixture } from '../test/messaging-fixture.js';
import { ensureStreams } from './index.js';

const PROJECT = path.join(__dirname, '..');

/** Real processes of the built code, ended with SIGKILL: nothing of theirs gets a chance to tidy up. */
describe('a process that is killed', () => {
  let fixture: Fixture;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    const tsc = require.resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-b', path.join(PROJECT, 'tsconfig.lib.json')], { stdio: 'inherit' });
    fixture = await startFixture();
    await ensureStreams(fixture.connection);
  }, 180_000);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await fixture.stop();
  }, 30_000);

  function start(script: string): ChildProcess {
    const env = { ...process.env, WORKER_DATABASE_URL: fixture.urls.worker, NATS_URL: fixture.nats.url };
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
    const manager = await fixture.connection.jetstreamManager();
    return (await manager.streams.info('RMM_INTERNAL')).state.messages;
  };
  const scalar = async (sql: string) => Number((await fixture.admin.query<{ n: string }>(sql)).rows[0].n);

  it('as a relay, in the middle of a backlog, loses nothing, doubles nothing and keeps the order', async () => {
    const [rows, aggregates] = [3_000, 60];
    await fixture.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload)
       select gen_random_uuid(), 'a' || n % $2, 'rmm.internal.provisioning.counted',
              json_build_object('aggregateId', 'a' || n % $2, 'n', n)::text
       from generate_series(1, $1) n`,
      [rows, aggregates],
    );
    for (const share of [0.1, 0.4, 0.7]) {
      const relay = start('relay-child.mjs');
      await eventually(async () => expect(await stored()).toBeGreaterThan(rows * share), {
        timeoutMs: 20_000,
        everyMs: 1,
      });
      await kill(relay);
      expect(await scalar('select count(*) as n from outbox')).toBeGreaterThan(0);
    }
    const last = start('relay-child.mjs');
    await eventually(async () => expect(await scalar('select count(*) as n from outbox')).toBe(0), {
      timeoutMs: 30_000,
    });
    await kill(last);
    expect(await stored()).toBe(rows);
    const seen = new Map<string, number>();
    for (const { body } of await storedMessages(fixture.connection, 'RMM_INTERNAL')) {
      const [aggregate, n] = [body.aggregateId as string, body.n as number];
      expect(n).toBeGreaterThan(seen.get(aggregate) ?? 0);
      seen.set(aggregate, n);
    }
  }, 120_000);

  it('as a consumer, in the middle of handling, loses nothing and handles nothing twice', async () => {
    const messages = 600;
    for (let n = 0; n < messages; n++) {
      const id = randomUUID();
      const envelope = {
        id,
        type: 'partner.updated',
        timestamp: new Date().toISOString(),
        aggregateId: `p${n % 20}`,
        data: { n },
      };
      await fixture.connection
        .jetstream()
        .publish('rmm.internal.identity.partner.updated', JSON.stringify(envelope), { msgID: id });
    }
    const effects = () => scalar('select count(*) as n from effect');
    for (const share of [0.2, 0.5, 0.8]) {
      const consumer = start('consumer-child.mjs');
      await eventually(async () => expect(await effects()).toBeGreaterThan(messages * share), {
        timeoutMs: 20_000,
        everyMs: 1,
      });
      await kill(consumer);
      expect(await effects()).toBeLessThan(messages);
    }
    const last = start('consumer-child.mjs');
    const manager = await fixture.connection.jetstreamManager();
    await eventually(
      async () => {
        const { num_pending, num_ack_pending } = await manager.consumers.info('RMM_INTERNAL', 'provisioning-internal');
        expect(num_pending + num_ack_pending).toBe(0);
      },
      { timeoutMs: 30_000 },
    );
    await kill(last);
    expect(await effects()).toBe(messages);
    expect(await scalar('select count(distinct id) as n from effect')).toBe(messages);
  }, 120_000);
});
