import { Controller, type INestApplication } from '@nestjs/common';
import { headers } from 'nats';
import { randomUUID } from 'node:crypto';
import { replayDeadLetters, type DomainEvent, type Envelope, type IntegrationEvent } from '@rmm/contracts';
import { currentContext, MetricsRegistry, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { SPEC_DURABLES, startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import {
  DeadLetterMessagesRepository,
  DeadLetterMessagesService,
  ensureStreams,
  Inbox,
  MessageRejected,
  OnDomainEvent,
  OnIntegrationEvent,
  RpcClient,
} from '../index.js';

/** Data of the published events, which selects the behavior of the handler. */
interface SpecData {
  behavior?: 'fail' | 'fail-once' | 'reject' | 'unavailable' | 'slow';
  n?: number;
}

/** Calls of the handlers in all replicas. */
const seen: { id: string; n?: number; requestId?: string; traceparent?: string }[] = [];
const failed = new Set<string>();
const healed = new Set<string>();
const attempts = new Map<string, number>();
let running: string[] = [];
let maxConcurrent = 0;
let overlapped = false;

@Controller()
class SpecConsumer {
  constructor(private readonly inbox: Inbox) {}

  @OnIntegrationEvent('partner.created', 'partner.updated')
  async partner(event: IntegrationEvent<'partner.created' | 'partner.updated'>): Promise<void> {
    const envelope = event as unknown as Envelope<SpecData>;
    running.push(envelope.aggregateId);
    overlapped ||= running.filter((each) => each === envelope.aggregateId).length > 1;
    maxConcurrent = Math.max(maxConcurrent, running.length);
    try {
      await this.behave(envelope);
    } finally {
      running = running.filter((each, i) => i !== running.indexOf(envelope.aggregateId));
    }
  }

  @OnDomainEvent('device.enrolled')
  async device(event: DomainEvent<'device.enrolled'>): Promise<void> {
    const envelope = event as unknown as Envelope<SpecData>;
    await this.inbox.once(envelope, (tx) => tx.query('insert into effect (id) values ($1)', [envelope.id]));
    if (envelope.data.behavior === 'fail-once' && !failed.has(envelope.id)) {
      failed.add(envelope.id);
      throw new Error('after the effect');
    }
  }

  private async behave({ id, data, ...envelope }: Envelope<SpecData>): Promise<void> {
    attempts.set(id, (attempts.get(id) ?? 0) + 1);
    if (data.behavior === 'slow') await new Promise((resolve) => setTimeout(resolve, 20));
    if (data.behavior === 'reject') throw new MessageRejected('makes no sense');
    if (data.behavior === 'fail' && !healed.has(id)) throw new Error('broken handler');
    if (data.behavior === 'unavailable' && !healed.has(id)) throw new UnavailableError();
    const context = currentContext();
    seen.push({
      id,
      n: data.n ?? envelope.aggregateVersion,
      requestId: context?.requestId,
      traceparent: context?.traceparent,
    });
  }
}

describe('JetStreamServer', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  const partnerId = randomUUID();

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    const policy = { maxDeliveries: 3, backoffMs: [20] };
    app = await testApp.startService({ controllers: [SpecConsumer], messaging: { policy } });
  });
  afterAll(() => testApp.stop(), 30_000);

  const envelope = (over: Partial<Envelope<SpecData>> = {}): Envelope<SpecData> => ({
    id: randomUUID(),
    type: 'partner.updated',
    schemaVersion: 1,
    timestamp: new Date().toISOString(),
    partnerId,
    orgId: null,
    aggregateId: partnerId,
    aggregateVersion: 1,
    data: {},
    ...over,
  });
  const publish = (body: unknown, subject = 'rmm.internal.identity.partner.updated') =>
    testApp.connection
      .jetstream()
      .publish(subject, typeof body === 'string' ? body : JSON.stringify(body), { headers: headers() });
  const pending = async (durable: string, stream = 'RMM_INTERNAL') => {
    const manager = await testApp.connection.jetstreamManager();
    const { num_pending, num_ack_pending } = await manager.consumers.info(stream, durable);
    return num_pending + num_ack_pending;
  };
  const outcomes = async () => {
    const text = await app.get(MetricsRegistry).registry.metrics();
    const of = (outcome: string) =>
      Number(
        new RegExp(`rmm_messages_total\\{consumer="provisioning-internal",outcome="${outcome}".*\\} (\\d+)`).exec(
          text,
        )?.[1] ?? 0,
      );
    return { terminated: of('terminated'), deadLettered: of('dead_lettered'), handled: of('handled') };
  };

  it('runs the handler of an integration event in the context of the call that caused it', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const sent = envelope({ correlationId: 'req-7', traceparent });
    await publish(sent);
    const found = await eventually(() => {
      const mine = seen.find(({ id }) => id === sent.id);
      expect(mine).toBeDefined();
      return mine;
    });
    expect(found?.requestId).toBe('req-7');
    expect(found?.traceparent).toBe(traceparent);
    await eventually(async () => expect(await pending('provisioning-internal')).toBe(0));
  });

  it('handles one aggregate in order and different aggregates concurrently', async () => {
    const aggregates = ['p1', 'p2', 'p3'];
    const sent = Array.from({ length: 30 }, (_, i) =>
      envelope({ aggregateId: aggregates[i % 3], data: { behavior: 'slow', n: i } }),
    );
    for (const each of sent) await publish(each);
    await eventually(() => expect(seen.filter(({ id }) => sent.some((each) => each.id === id))).toHaveLength(30));
    expect(overlapped).toBe(false);
    expect(maxConcurrent).toBeGreaterThan(1);
    for (const aggregate of aggregates) {
      const ids = sent.filter((each) => each.aggregateId === aggregate).map(({ id }) => id);
      expect(seen.filter(({ id }) => ids.includes(id)).map(({ id }) => id)).toEqual(ids);
    }
  });

  it('applies an effect once although the message is delivered again', async () => {
    const orgId = randomUUID();
    const sent = envelope({ type: 'device.enrolled', orgId, data: { behavior: 'fail-once' } });
    await publish(sent, `rmm.events.${orgId}.device.enrolled`);
    await eventually(() => expect(failed.has(sent.id)).toBe(true));
    await eventually(async () => expect(await pending('provisioning-events', 'RMM_EVENTS')).toBe(0));
    const { rows } = await testApp.admin.query('select count(*)::int as n from effect where id = $1', [sent.id]);
    expect(rows[0].n).toBe(1);
  });

  it('terminates and counts messages that are malformed, on a wrong subject, or rejected', async () => {
    const before = await outcomes();
    await publish('{ not json');
    await publish({ id: 'x' });
    await publish(envelope({ type: 'partner.created' }));
    await publish(envelope({ data: { behavior: 'reject' } }));
    await eventually(async () => expect((await outcomes()).terminated - before.terminated).toBe(4));
    await eventually(async () => expect(await pending('provisioning-internal')).toBe(0));
    expect(await app.get(DeadLetterMessagesRepository).count()).toBe(0);
  });

  it('dead-letters a message whose deliveries are used up, and replays it', async () => {
    const sent = envelope({ data: { behavior: 'fail' } });
    await publish(sent);
    const deadLetters = app.get(DeadLetterMessagesRepository);
    const [row] = await eventually(async () => {
      const rows = await deadLetters.list();
      expect(rows).toHaveLength(1);
      return rows;
    });
    expect(row).toMatchObject({
      consumer: 'provisioning-internal',
      messageId: sent.id,
      subject: 'rmm.internal.identity.partner.updated',
      reason: 'Error: broken handler',
      deliveries: 3,
    });
    await eventually(async () => expect(await pending('provisioning-internal')).toBe(0));

    expect(await app.get(DeadLetterMessagesService).replay()).toEqual({ replayed: 0, failed: 1, left: 1 });
    healed.add(sent.id);
    const asked = await app
      .get(RpcClient)
      .call(replayDeadLetters('provisioning'), { consumer: 'provisioning-internal' });
    expect(asked).toEqual({ replayed: 1, failed: 0, left: 0 });
    expect(seen.some(({ id }) => id === sent.id)).toBe(true);
    expect(await deadLetters.count()).toBe(0);
  });

  it('redelivers beyond the usual limit while a dependency is down', async () => {
    const sent = envelope({ data: { behavior: 'unavailable' } });
    await publish(sent);
    await eventually(() => expect(attempts.get(sent.id)).toBeGreaterThan(4));
    healed.add(sent.id);
    await eventually(() => expect(seen.some(({ id }) => id === sent.id)).toBe(true));
    expect(await app.get(DeadLetterMessagesRepository).count()).toBe(0);
  });

  it('dead-letters a message of a newer schema version at once', async () => {
    const sent = envelope({ schemaVersion: 2 });
    await publish(sent);
    await eventually(async () =>
      expect((await app.get(DeadLetterMessagesRepository).list()).map(({ messageId }) => messageId)).toEqual([sent.id]),
    );
    const [row] = await app.get(DeadLetterMessagesRepository).list();
    await app.get(DeadLetterMessagesRepository).delete(row.id);
  });

  it('continues after a restart of NATS, and once its deleted durable consumer is set up again', async () => {
    await testApp.nats.kill();
    await testApp.nats.start();
    const first = envelope();
    await eventually(() => publish(first));
    await eventually(() => expect(seen.some(({ id }) => id === first.id)).toBe(true));

    const manager = await testApp.connection.jetstreamManager();
    await manager.consumers.delete('RMM_INTERNAL', 'provisioning-internal');
    const second = envelope();
    await publish(second);
    await ensureStreams(testApp.connection, { durables: SPEC_DURABLES });
    await eventually(() => expect(seen.some(({ id }) => id === second.id)).toBe(true));
  });
});
