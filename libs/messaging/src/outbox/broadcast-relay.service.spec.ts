import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, workerOf, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { BroadcastOutboxRepository, Broadcasts, ensureStreams, Outbox, type OutgoingMessage } from '../index.js';

const buildBroadcast = (reason: string): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'access.changed',
  aggregateId: 'one',
  partnerId: null,
  orgId: null,
  data: { userIds: ['u1'], reason },
});

const buildEvent = (n: number): OutgoingMessage => ({
  stream: 'internal',
  type: 'user.mfa_reset',
  aggregateId: 'one',
  aggregateVersion: n,
  partnerId: null,
  orgId: null,
  data: { userId: 'u1', mfaEpoch: n },
});

describe('BroadcastRelay', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  const received: string[] = [];

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    app.get(Broadcasts).subscribe('access.changed', ({ data }) => void received.push(data.reason));
    await testApp.connection.flush();
  });
  afterAll(() => testApp.stop(), 30_000);
  beforeEach(() => void received.splice(0));

  const publish = (...messages: OutgoingMessage[]) =>
    workerOf(app).transaction((tx) => app.get(Outbox).publish(tx, messages));
  const count = async (table: string) =>
    Number((await testApp.admin.query(`select count(*) as n from ${table}`)).rows[0].n);

  it('sends broadcasts and deletes their rows', async () => {
    await publish(buildBroadcast('a'), buildBroadcast('b'));
    await eventually(() => expect(received).toEqual(['a', 'b']));
    await eventually(async () => expect(await count('outbox_broadcast')).toBe(0));
  });

  it('sends broadcasts while JetStream refuses everything before them', async () => {
    const manager = await testApp.connection.jetstreamManager();
    await manager.streams.delete('RMM_INTERNAL');
    await publish(...Array.from({ length: 1_200 }, (_, n) => buildEvent(n)));
    await publish(buildEvent(1_200), buildBroadcast('during the outage'));
    await eventually(() => expect(received).toEqual(['during the outage']), { timeoutMs: 10_000 });
    await eventually(async () => expect(await count('outbox_broadcast')).toBe(0));
    expect(await count('outbox')).toBe(1_201);
    await ensureStreams(testApp.connection);
    await eventually(async () => expect(await count('outbox')).toBe(0));
  });

  it('sends the rows of a relay that died once their lease has expired', async () => {
    await testApp.admin.query(
      `insert into outbox_broadcast (subject, payload, leased_until)
       select 'rmm.broadcast.access.changed',
         json_build_object('id', gen_random_uuid(), 'type', 'access.changed', 'schemaVersion', 1, 'timestamp', now(),
           'partnerId', null, 'orgId', null, 'aggregateId', 'x', 'aggregateVersion', 0,
           'data', json_build_object('reason', 'leased'))::text, now() + interval '1 second'`,
    );
    expect(await app.get(BroadcastOutboxRepository).oldestMs()).toBeGreaterThan(0);
    await eventually(() => expect(received).toEqual(['leased']), { timeoutMs: 10_000 });
    expect(await eventually(async () => expect(await count('outbox_broadcast')).toBe(0))).toBeUndefined();
    expect(await app.get(BroadcastOutboxRepository).oldestMs()).toBe(0);
  });

  it('keeps broadcasts while NATS is down and sends them when it is back', async () => {
    await testApp.nats.kill();
    await publish(buildBroadcast('kept'));
    expect(await count('outbox_broadcast')).toBe(1);
    await testApp.nats.start();
    await eventually(async () => expect(await count('outbox_broadcast')).toBe(0));
  });
});
