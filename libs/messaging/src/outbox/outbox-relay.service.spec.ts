import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '@rmm/contracts';
import { HealthRegistry, MetricsRegistry } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  startMessagingTestApp,
  storedMessages,
  workerOf,
  type MessagingTestApp,
} from '../../test/messaging-test-app.js';
import { Outbox, OutboxRelay, type OutgoingMessage } from '../index.js';

const partnerId = randomUUID();

function buildMessage(aggregateId: string, version: number, userId = aggregateId): OutgoingMessage {
  return {
    stream: 'internal',
    type: 'user.mfa_reset',
    aggregateId,
    aggregateVersion: version,
    partnerId,
    orgId: null,
    data: { userId, mfaEpoch: version },
  };
}

describe('OutboxRelay', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService({ messaging: { relay: { batchSize: 50, leaseMs: 3_000, pollMs: 200 } } });
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(async () => {
    const manager = await testApp.connection.jetstreamManager();
    await manager.streams.purge('RMM_INTERNAL');
  });

  const add = (messages: OutgoingMessage[], through = app) =>
    workerOf(through).transaction((tx) => through.get(Outbox).publish(tx, messages));
  const outboxCount = async () => Number((await testApp.admin.query('select count(*) as n from outbox')).rows[0].n);
  const drained = () => eventually(async () => expect(await outboxCount()).toBe(0));
  const versionsByAggregate = async () => {
    const found: Record<string, number[]> = {};
    for (const { body } of await storedMessages(testApp.connection, 'RMM_INTERNAL')) {
      (found[body.aggregateId as string] ??= []).push(body.aggregateVersion as number);
    }
    return found;
  };

  it('publishes each aggregate in order and once while three relays share one backlog', async () => {
    const others = await Promise.all(
      [1, 2].map(() => testApp.startService({ messaging: { relay: { batchSize: 40, pollMs: 50 } } })),
    );
    const aggregates = Array.from({ length: 30 }, (_, i) => `agg-${i}`);
    for (let n = 0; n < 20; n++) {
      await add(aggregates.map((aggregate) => buildMessage(aggregate, n)));
    }
    await drained();
    const expected = Array.from({ length: 20 }, (_, n) => n);
    const found = await versionsByAggregate();
    expect(Object.keys(found).sort()).toEqual([...aggregates].sort());
    for (const versions of Object.values(found)) expect(versions).toEqual(expected);
    await Promise.all(others.map((other) => other.close()));
  });

  it('delays an aggregate whose message the stream refuses and publishes the others', async () => {
    const [stuck, free] = [randomUUID(), randomUUID()];
    // Too large for the stream; Outbox.publish would have refused it.
    await testApp.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload) values (gen_random_uuid(), $1, 'rmm.internal.provisioning.counted', repeat('x', 300000))`,
      [stuck],
    );
    await add([buildMessage(stuck, 2), buildMessage(free, 1)]);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ [free]: [1] }));
    await eventually(async () => expect(await outboxCount()).toBe(2));
    await testApp.admin.query('delete from outbox where length(payload) >= 300000');
    await drained();
    expect(await versionsByAggregate()).toEqual({ [free]: [1], [stuck]: [2] });
  });

  it('publishes rows leased by a dead relay once the lease has expired', async () => {
    const aggregate = randomUUID();
    await testApp.admin.query(
      `insert into outbox_lease values (gen_random_uuid(), array[$1], now() + interval '1 hour')`,
      [aggregate],
    );
    await add([buildMessage(aggregate, 1), buildMessage('other', 1)]);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ other: [1] }));
    await testApp.admin.query(`update outbox_lease set leased_until = now() where $1 = any(aggregates)`, [aggregate]);
    await drained();
    expect(await versionsByAggregate()).toEqual({ other: [1], [aggregate]: [1] });
  });

  it('publishes rows of an aggregate soon after another relay has freed it', async () => {
    const service = await testApp.startService({ messaging: { relay: { pollMs: 60_000 } } });
    await app.get(OutboxRelay).stop();
    await testApp.admin.query(
      `insert into outbox_lease values (gen_random_uuid(), array['held'], now() + interval '1 hour')`,
    );
    await add([buildMessage('held', 1), buildMessage('free', 1)], service);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ free: [1] }));
    await testApp.admin.query(`delete from outbox_lease`);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ free: [1], held: [1] }));
    await service.close();
    app = await testApp.startService({ messaging: { relay: { batchSize: 50, leaseMs: 3_000, pollMs: 200 } } });
  });

  it('publishes audit entries a little later, and other messages at once', async () => {
    const alone = await startMessagingTestApp();
    try {
      const service = await alone.startService({ messaging: { relay: { pollMs: 60_000, lingerMs: 1_000 } } });
      const wake = jest.spyOn(service.get(OutboxRelay), 'wake');
      const entry: OutgoingMessage = {
        ...{ stream: 'audit', type: 'access.denied', aggregateId: randomUUID(), partnerId, orgId: null },
        actor: { type: 'system', id: null },
        data: {} as AuditEntry,
      };
      await add([entry], service);
      expect(wake).not.toHaveBeenCalled();
      await eventually(() => expect(wake).toHaveBeenCalledTimes(1));
      await eventually(async () => expect(await storedMessages(alone.connection, 'RMM_AUDIT')).toHaveLength(1));
      await add([buildMessage('x', 1)], service);
      expect(wake).toHaveBeenCalledTimes(2);
      await eventually(async () => expect(await storedMessages(alone.connection, 'RMM_INTERNAL')).toHaveLength(1));
    } finally {
      await alone.stop();
    }
  });

  it('publishes rows committed by another process without a wake-up call', async () => {
    await testApp.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload)
       values (gen_random_uuid(), 'x', 'rmm.internal.provisioning.counted', '{"aggregateId":"x","aggregateVersion":1}')`,
    );
    await drained();
    expect(await versionsByAggregate()).toEqual({ x: [1] });
  });

  it('keeps all rows while NATS is down and publishes them in order when it is back', async () => {
    await add([buildMessage('a', 0)]);
    for (let n = 1; n <= 60; n++) {
      await add([buildMessage('a', n), buildMessage(`b-${n}`, n)]);
      if (n === 20) await testApp.nats.kill();
      if (n === 40) await testApp.nats.start();
    }
    await drained();
    const found = await eventually(versionsByAggregate);
    expect(found.a).toEqual(Array.from({ length: 61 }, (_, n) => n));
    expect(Object.keys(found)).toHaveLength(61);
  });

  it('is not ready while the storage of the streams is used up, and publishes every row when there is room', async () => {
    const full = await startMessagingTestApp({ maxStorageBytes: 2 * 1_048_576 });
    try {
      const service = await full.startService({ messaging: { relay: { pollMs: 100 } } });
      const publishing = () => service.get(HealthRegistry).checks.get('publishing')?.();
      const storageRatio = async () =>
        Number(
          /^rmm_stream_storage_ratio\{.*\} (.+)$/m.exec(await service.get(MetricsRegistry).registry.metrics())?.[1],
        );
      await expect(publishing()).resolves.toBeUndefined();
      const filler = 'x'.repeat(200_000);
      for (let i = 0; i < 10; i++) await full.connection.jetstream().publish('rmm.records.filler.upsert', filler);
      expect(await storageRatio()).toBeGreaterThan(0.9);
      const ids = Array.from({ length: 300 }, (_, i) => `aggregate-${i}`);
      await add(
        ids.map((id) => buildMessage(id, 1, 'x'.repeat(2_000))),
        service,
      );
      await eventually(() => expect(publishing()).rejects.toThrow('accept no messages'));
      await (await full.connection.jetstreamManager()).streams.purge('RMM_RECORDS');
      await eventually(() => expect(publishing()).resolves.toBeUndefined());
      await eventually(async () => {
        const stored = await storedMessages(full.connection, 'RMM_INTERNAL');
        expect(new Set(stored.map(({ body }) => body.aggregateId))).toEqual(new Set(ids));
      });
      expect(await storageRatio()).toBeLessThan(0.9);
    } finally {
      await full.stop();
    }
  });

  it('drops empty partitions of past days and keeps those with rows', async () => {
    for (const day of ['2026-01-01', '2026-01-02']) {
      const name = `outbox_p${day.replaceAll('-', '')}`;
      await testApp.admin.query(
        `create table ${name} partition of outbox for values from ('${day} 00:00Z') to ('${day} 24:00Z')`,
      );
      await testApp.admin.query(`alter table ${name} owner to "${new URL(testApp.urls.owner).username}"`);
    }
    await testApp.admin.query(
      `insert into outbox_lease values (gen_random_uuid(), array['late'], now() + interval '1 hour')`,
    );
    await testApp.admin.query(
      `insert into outbox (created_at, id, aggregate_id, subject, payload)
       values ('2026-01-02T12:00Z', gen_random_uuid(), 'late', 'rmm.internal.provisioning.counted', '{}')`,
    );
    await workerOf(app).query('select rmm_drop_empty_outbox_partitions()');
    const { rows } = await testApp.admin.query(
      `select to_regclass('outbox_p20260101') as empty, to_regclass('outbox_p20260102') is not null as filled`,
    );
    expect(rows).toEqual([{ empty: null, filled: true }]);
    await testApp.admin.query(`delete from outbox_lease`);
    await drained();
  });
});
