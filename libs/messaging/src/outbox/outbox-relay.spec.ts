import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import { randomUUID } from 'node:crypto';
import { startFixture, storedMessages, workerOf, type Fixture } from '../../test/messaging-fixture.js';
import { Outbox, type OutgoingMessage } from '../index.js';

const partnerId = randomUUID();

function numbered(aggregateId: string, n: number): OutgoingMessage {
  return {
    stream: 'internal',
    type: 'counted',
    aggregateId,
    aggregateVersion: n,
    partnerId,
    orgId: null,
    data: { n },
  };
}

describe('OutboxRelay', () => {
  let fixture: Fixture;
  let app: INestApplication;

  beforeAll(async () => {
    fixture = await startFixture();
    app = await fixture.service({ messaging: { relay: { batchSize: 50, leaseMs: 3_000, pollMs: 200 } } });
  }, 60_000);
  afterAll(() => fixture.stop(), 30_000);
  beforeEach(async () => {
    const manager = await fixture.connection.jetstreamManager();
    await manager.streams.purge('RMM_INTERNAL');
  });

  const add = (messages: OutgoingMessage[], through = app) =>
    workerOf(through).transaction((tx) => through.get(Outbox).add(tx, messages));
  const outboxCount = async () => Number((await fixture.admin.query('select count(*) as n from outbox')).rows[0].n);
  const drained = () => eventually(async () => expect(await outboxCount()).toBe(0), { timeoutMs: 20_000 });
  const versionsByAggregate = async () => {
    const found: Record<string, number[]> = {};
    for (const { body } of await storedMessages(fixture.connection, 'RMM_INTERNAL')) {
      (found[body.aggregateId as string] ??= []).push(body.aggregateVersion as number);
    }
    return found;
  };

  it('keeps the order of each aggregate while three relays share one backlog, and publishes nothing twice', async () => {
    const others = await Promise.all(
      [1, 2].map(() => fixture.service({ messaging: { relay: { batchSize: 40, pollMs: 50 } } })),
    );
    const aggregates = Array.from({ length: 30 }, (_, i) => `agg-${i}`);
    for (let n = 0; n < 20; n++) {
      await add(aggregates.map((aggregate) => numbered(aggregate, n)));
    }
    await drained();
    const expected = Array.from({ length: 20 }, (_, n) => n);
    const found = await versionsByAggregate();
    expect(Object.keys(found).sort()).toEqual([...aggregates].sort());
    for (const versions of Object.values(found)) expect(versions).toEqual(expected);
    await Promise.all(others.map((other) => other.close()));
  }, 40_000);

  it('holds an aggregate back behind a message the stream refuses, and lets the others go', async () => {
    const [stuck, free] = [randomUUID(), randomUUID()];
    // Too large for the stream, which Outbox.add would have refused.
    await fixture.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload) values (gen_random_uuid(), $1, 'rmm.internal.provisioning.counted', repeat('x', 300000))`,
      [stuck],
    );
    await add([numbered(stuck, 2), numbered(free, 1)]);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ [free]: [1] }));
    await eventually(async () => expect(await outboxCount()).toBe(2));
    await fixture.admin.query('delete from outbox where length(payload) >= 300000');
    await drained();
    expect(await versionsByAggregate()).toEqual({ [free]: [1], [stuck]: [2] });
  }, 30_000);

  it('takes over what a dead relay had leased once its lease has run out', async () => {
    const aggregate = randomUUID();
    await fixture.admin.query(
      `insert into outbox_lease values (gen_random_uuid(), array[$1], now() + interval '1 hour')`,
      [aggregate],
    );
    await add([numbered(aggregate, 1), numbered('other', 1)]);
    await eventually(async () => expect(await versionsByAggregate()).toEqual({ other: [1] }));
    await fixture.admin.query(`update outbox_lease set leased_until = now() where $1 = any(aggregates)`, [aggregate]);
    await drained();
    expect(await versionsByAggregate()).toEqual({ other: [1], [aggregate]: [1] });
  }, 30_000);

  it('finds what another process committed without telling it', async () => {
    await fixture.admin.query(
      `insert into outbox (id, aggregate_id, subject, payload)
       values (gen_random_uuid(), 'x', 'rmm.internal.provisioning.counted', '{"aggregateId":"x","aggregateVersion":1}')`,
    );
    await drained();
    expect(await versionsByAggregate()).toEqual({ x: [1] });
  });

  it('keeps everything while NATS is down, during traffic, and publishes it in order when it is back', async () => {
    await add([numbered('a', 0)]);
    for (let n = 1; n <= 60; n++) {
      await add([numbered('a', n), numbered(`b-${n}`, n)]);
      if (n === 20) await fixture.nats.kill();
      if (n === 40) await fixture.nats.start();
    }
    await drained();
    const found = await eventually(versionsByAggregate);
    expect(found.a).toEqual(Array.from({ length: 61 }, (_, n) => n));
    expect(Object.keys(found)).toHaveLength(61);
  }, 60_000);

  it('drops the partitions of days that are over once they stand empty, and never one with rows', async () => {
    for (const day of ['2026-01-01', '2026-01-02']) {
      const name = `outbox_p${day.replaceAll('-', '')}`;
      await fixture.admin.query(
        `create table ${name} partition of outbox for values from ('${day} 00:00Z') to ('${day} 24:00Z')`,
      );
      await fixture.admin.query(`alter table ${name} owner to "${new URL(fixture.urls.owner).username}"`);
    }
    await fixture.admin.query(
      `insert into outbox_lease values (gen_random_uuid(), array['late'], now() + interval '1 hour')`,
    );
    await fixture.admin.query(
      `insert into outbox (created_at, id, aggregate_id, subject, payload)
       values ('2026-01-02T12:00Z', gen_random_uuid(), 'late', 'rmm.internal.provisioning.counted', '{}')`,
    );
    await workerOf(app).query('select rmm_drop_empty_outbox_partitions()');
    const { rows } = await fixture.admin.query(
      `select to_regclass('outbox_p20260101') as empty, to_regclass('outbox_p20260102') is not null as filled`,
    );
    expect(rows).toEqual([{ empty: null, filled: true }]);
    await fixture.admin.query(`delete from outbox_lease`);
    await drained();
  }, 30_000);
});
