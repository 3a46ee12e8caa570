import { type Logger, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import type { BacklogService } from '../sending/backlog.service.js';
import type { InstanceLeaseService } from '../sending/instance-lease.service.js';
import type { LeasedDelivery } from '../sending/leased-delivery.types.js';
import { DEFAULT_RETRY_POLICY } from '../sending/retry-delay.js';
import type { SenderService } from '../sending/sender.service.js';
import type { ReplicaSignalsService } from '../sending/shards/replica-signals.service.js';
import type { ShardOwnershipService } from '../sending/shards/shard-ownership.service.js';
import { IntakeWriterService } from './intake-writer.service.js';
import type { IntakeDelivery, IntakeRepository } from './intake.repository.js';

describe('IntakeWriterService', () => {
  /** The inserted deliveries of each statement. */
  let statements: IntakeDelivery[][];
  /** Statements wait until this is called. */
  let letGo: () => void;
  let insert: (deliveries: readonly IntakeDelivery[]) => void;
  let queued: Record<string, number>;
  let backlogged: Set<string>;
  let sent: LeasedDelivery[];
  let writer: IntakeWriterService;

  beforeEach(() => {
    statements = [];
    queued = {};
    backlogged = new Set();
    sent = [];
    insert = () => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const repository: Pick<IntakeRepository, 'insert'> = {
      insert: async (deliveries) => {
        await gate;
        insert(deliveries);
        statements.push([...deliveries]);
        return new Set(deliveries.map(({ id }) => id));
      },
    };
    const backlog: Pick<BacklogService, 'isInBacklog' | 'add'> = {
      isInBacklog: (orgId) => backlogged.has(orgId),
      add: (orgId) => void backlogged.add(orgId),
    };
    const sender: Pick<SenderService, 'waitForRoom' | 'countQueued' | 'send'> = {
      waitForRoom: () => Promise.resolve(),
      countQueued: (orgId) => queued[orgId] ?? 0,
      send: (deliveries) => void sent.push(...deliveries),
    };
    writer = new IntakeWriterService(
      repository as IntakeRepository,
      { owner: 'me' } as InstanceLeaseService,
      { owns: (shard: number): boolean => shard === 0 } as Pick<ShardOwnershipService, 'owns'> as ShardOwnershipService,
      { publishDeliveriesDue: () => undefined } as ReplicaSignalsService,
      backlog as BacklogService,
      sender as SenderService,
      { warn: () => undefined } as unknown as Logger,
    );
  });

  let inserted = 0;
  const write = (orgId: string, webhooks = 1, shard = 0) => {
    inserted += 1;
    const event = { eventId: `event-${inserted}`, eventType: 'device.online', createdAt: new Date(), body: '{}' };
    const subscribers = Array.from({ length: webhooks }, (_, n) => ({
      webhookId: `webhook-${n}`,
      partnerId: 'partner',
      orgId,
      shard,
      retryPolicy: DEFAULT_RETRY_POLICY,
    }));
    return writer.write(event, subscribers);
  };
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  const organizations = (statement: IntakeDelivery[] | undefined) => new Set(statement?.map(({ orgId }) => orgId));

  it('writes an event before the thousands of another organization that arrived earlier', async () => {
    const burst = Array.from({ length: 1_000 }, () => write('noisy', 20));
    await tick();
    const quiet = write('quiet');
    letGo();
    await quiet;
    // Behind the statement that was under way, and nothing else.
    expect(statements.length).toBeLessThanOrEqual(2);
    expect(organizations(statements[1])).toEqual(new Set(['noisy', 'quiet']));
    await Promise.all(burst);
    expect(statements.flat()).toHaveLength(20_001);
    expect(Math.max(...statements.map(({ length }) => length))).toBeLessThan(550);
  });

  it('holds back the events of an organization while its queue is long', async () => {
    letGo();
    queued = { noisy: 3_000 };
    const waiting = write('noisy');
    await write('quiet');
    expect(statements.flatMap((statement) => [...organizations(statement)])).toEqual(['quiet']);
    queued = { noisy: 2_999 };
    await waiting;
    expect(sent.map(({ orgId }) => orgId)).toEqual(['quiet', 'noisy']);
  });

  it('writes the events to the table when too many wait', async () => {
    letGo();
    queued = { noisy: 3_000 };
    const burst = Array.from({ length: 4_000 }, () => write('noisy'));
    await burst[0];
    expect(statements[0]?.every(({ owner }) => owner === 'noisy')).toBe(true);
    expect(backlogged).toEqual(new Set(['noisy']));
    expect(sent).toEqual([]);
    // With a backlog, new deliveries are inserted behind it.
    await Promise.all(burst);
  });

  it('leases the deliveries of its own shards only', async () => {
    letGo();
    await Promise.all([write('a', 1, 0), write('a', 1, 1)]);
    expect(statements.flat().map(({ owner }) => owner)).toEqual(['me', null]);
    expect(sent).toHaveLength(1);
  });

  it('retries a statement while the database is unavailable and rejects no event', async () => {
    let failures = 2;
    insert = () => {
      failures -= 1;
      if (failures >= 0) throw new UnavailableError();
    };
    letGo();
    await write('a');
    expect(failures).toBe(-1);
    expect(statements).toHaveLength(1);
  });

  it('rejects the event that the database refuses and stores the others', async () => {
    insert = (deliveries) => {
      if (deliveries.some(({ orgId }) => orgId === 'bad')) throw new Error('invalid text');
    };
    const [good, bad, alsoGood] = [write('a'), write('bad'), write('b')];
    letGo();
    await expect(bad).rejects.toThrow('invalid text');
    await Promise.all([good, alsoGood]);
    expect(statements.flat()).toHaveLength(2);
  });

  it('completes the running statement when it stops and rejects the rest', async () => {
    const inHand = write('a');
    await tick();
    const waiting = write('b');
    writer.stop();
    await expect(waiting).rejects.toThrow(UnavailableError);
    await expect(write('c')).rejects.toThrow(UnavailableError);
    letGo();
    await inHand;
    await eventually(() => expect(statements).toHaveLength(1));
  });
});
