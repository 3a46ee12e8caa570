import { type Logger, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import type { LeasedDelivery } from '../sending/leased-delivery.js';
import type { InstanceLeaseService } from '../sending/instance-lease.service.js';
import type { BacklogService } from '../sending/backlog.service.js';
import { DEFAULT_RETRY_POLICY } from '../sending/retry-delay.js';
import type { SenderService } from '../sending/sender.service.js';
import type { ReplicaSignalsService } from '../sending/shards/replica-signals.service.js';
import type { ShardOwnershipService } from '../sending/shards/shard-ownership.service.js';
import type { IntakeDelivery, IntakeRepository } from './intake.repository.js';
import { IntakeWriterService } from './intake-writer.service.js';

describe('IntakeWriter', () => {
  /** What was written, statement by statement. */
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

  it('lets one event pass the thousands of somebody else that came before it', async () => {
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

  it('leaves the events of an organization with a long queue where they are, until it is shorter', async () => {
    letGo();
    queued = { noisy: 3_000 };
    const waiting = write('noisy');
    await write('quiet');
    expect(statements.flatMap((statement) => [...organizations(statement)])).toEqual(['quiet']);
    queued = { noisy: 2_999 };
    await waiting;
    expect(sent.map(({ orgId }) => orgId)).toEqual(['quiet', 'noisy']);
  });

  it('writes them all the same when too many wait: then they wait in the table', async () => {
    letGo();
    queued = { noisy: 3_000 };
    const burst = Array.from({ length: 4_000 }, () => write('noisy'));
    await burst[0];
    expect(statements[0]?.every(({ owner }) => owner === 'noisy')).toBe(true);
    expect(backlogged).toEqual(new Set(['noisy']));
    expect(sent).toEqual([]);
    // Parked now: what comes goes behind what is in the table.
    await Promise.all(burst);
  });

  it('holds what this process sends, and leaves the rest to others', async () => {
    letGo();
    await Promise.all([write('a', 1, 0), write('a', 1, 1)]);
    expect(statements.flat().map(({ owner }) => owner)).toEqual(['me', null]);
    expect(sent).toHaveLength(1);
  });

  it('tries a statement again while the database is away, and says so to nobody', async () => {
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

  it('refuses the one event the database will not take, and stores the others', async () => {
    insert = (deliveries) => {
      if (deliveries.some(({ orgId }) => orgId === 'bad')) throw new Error('invalid text');
    };
    const [good, bad, alsoGood] = [write('a'), write('bad'), write('b')];
    letGo();
    await expect(bad).rejects.toThrow('invalid text');
    await Promise.all([good, alsoGood]);
    expect(statements.flat()).toHaveLength(2);
  });

  it('finishes the statement in hand when it stops, and hands the rest back', async () => {
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
