import pg from 'pg';
import { type Logger, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import type { RequestShapesRepository } from '../attempt-log/request-shapes.repository.js';
import type { DispatcherMetrics } from '../dispatcher.metrics.js';
import type { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import type { OutcomesRepository, WrittenOutcomes } from './outcomes.repository.js';
import {
  createPendingOutcome,
  createOutcome,
  type EventInProgress,
  type Outcome,
  type QueuedDelivery,
} from './queued-delivery.js';

describe('OutcomeBatcherService', () => {
  let sets: Outcome[][];
  let write: (set: readonly Outcome[]) => Promise<WrittenOutcomes>;
  let stored: Outcome[];
  let discarded: Outcome[];
  let dropped: number[];
  let batcher: OutcomeBatcherService;

  beforeEach(() => {
    sets = [];
    stored = [];
    discarded = [];
    dropped = [];
    write = () => Promise.resolve({ written: null, lost: [] });
    const repository: Pick<OutcomesRepository, 'write'> = {
      write: (set) => {
        sets.push([...set]);
        return write(set);
      },
    };
    const leases = { epochOf: () => 1, drop: (partitions: number[]) => dropped.push(...partitions) };
    batcher = new OutcomeBatcherService(
      repository as OutcomesRepository,
      {} as RequestShapesRepository,
      leases as unknown as PartitionLeaseManagerService,
      { countOutcomes: () => undefined } as unknown as DispatcherMetrics,
      { warn: () => undefined, error: () => undefined } as unknown as Logger,
    );
    batcher.subscribe({
      onStored: (outcome) => stored.push(outcome),
      onDiscarded: (outcome) => discarded.push(outcome),
      onDrained: () => undefined,
    });
  });

  const results: string[] = [];
  beforeEach(() => void results.splice(0));
  const eventOf = (body: string): EventInProgress => ({
    eventId: 'e',
    eventType: 'device.online',
    createdAt: new Date(),
    partnerId: 'p',
    orgId: 'o',
    eventOrgId: null,
    body: Buffer.from(body),
    isBodyStored: false,
    onStored: () => void results.push('stored'),
    onRefused: () => void results.push('refused'),
    onFailed: () => void results.push('failed'),
  });
  const delivery = (id: string, body = '{}'): QueuedDelivery => ({
    id,
    createdAt: new Date(),
    webhookId: 'w',
    partnerId: 'p',
    orgId: 'o',
    partition: 7,
    eventId: 'e',
    eventType: 'device.online',
    body: Buffer.from(body),
    maxAttempts: 6,
    attempt: 0,
    event: eventOf(body),
    isStored: false,
    hasOutcome: false,
    state: 'table',
  });
  const delivered = (of: QueuedDelivery): Outcome => createOutcome(of, 'delivered', Date.now());
  const timeout = () =>
    new UnavailableError(undefined, {
      cause: Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' }),
    });

  it('writes a delivery once whose attempt ends before it is stored as pending', async () => {
    const one = delivery('a');
    batcher.add(createPendingOutcome(one));
    batcher.add(delivered(one));
    await batcher.flush();
    expect(sets.map((set) => set.map(({ status }) => status))).toEqual([['delivered']]);
    expect([results, one.isStored]).toEqual([['stored'], true]);
  });

  it('bounds sets by rows and by bytes', async () => {
    for (let i = 0; i < 1_200; i += 1) batcher.add(delivered(delivery(`small-${i}`)));
    await batcher.flush();
    expect(Math.max(...sets.map(({ length }) => length))).toBe(500);
    sets = [];
    for (let i = 0; i < 100; i += 1) batcher.add(delivered(delivery(`large-${i}`, 'x'.repeat(240_000))));
    await batcher.flush();
    expect(sets.flat()).toHaveLength(100);
    expect(Math.max(...sets.map(({ length }) => length))).toBeLessThanOrEqual(5);
  });

  it('is full by bytes as well as by rows', () => {
    write = () => new Promise(() => undefined);
    for (let i = 0; i < 200; i += 1) batcher.add(delivered(delivery(`large-${i}`, 'x'.repeat(240_000))));
    expect(batcher.isFull).toBe(true);
  });

  it('splits a set that takes too long until each part is written', async () => {
    write = (set) => (set.length > 2 ? Promise.reject(timeout()) : Promise.resolve({ written: null, lost: [] }));
    for (let i = 0; i < 8; i += 1) batcher.add(delivered(delivery(`${i}`)));
    await batcher.flush();
    expect(sets.map(({ length }) => length)).toEqual([8, 4, 2, 2, 4, 2, 2]);
    expect(stored).toHaveLength(8);
  });

  it('fails the event of the one outcome that the database refuses and stores the others', async () => {
    write = (set) =>
      set.some(({ delivery: { id } }) => id === 'bad')
        ? Promise.reject(new Error('invalid text'))
        : Promise.resolve({ written: null, lost: [] });
    for (const id of ['a', 'bad', 'b', 'c']) batcher.add(delivered(delivery(id)));
    await batcher.flush();
    expect(stored.map(({ delivery: { id } }) => id)).toEqual(['a', 'b', 'c']);
    expect(discarded.map(({ delivery: { id } }) => id)).toEqual(['bad']);
    expect(results.sort()).toEqual(['failed', 'stored', 'stored', 'stored']);
  });

  it('repeats a set while the database is unavailable', async () => {
    let failures = 2;
    write = () =>
      (failures -= 1) >= 0 ? Promise.reject(new UnavailableError()) : Promise.resolve({ written: null, lost: [] });
    batcher.add(delivered(delivery('a')));
    await batcher.flush();
    await eventually(() => expect(stored).toHaveLength(1));
    expect(sets).toHaveLength(3);
  });

  it('refuses events of partitions that have another owner, and drops these partitions', async () => {
    write = () => Promise.resolve({ written: new Set(), lost: [7] });
    batcher.add(createPendingOutcome(delivery('a')));
    await batcher.flush();
    expect([results, dropped, discarded.length]).toEqual([['refused'], [7], 1]);
  });

  it('counts the event of a delivery that exists already as stored', async () => {
    write = () => Promise.resolve({ written: new Set(), lost: [] });
    batcher.add(createPendingOutcome(delivery('a')));
    await batcher.flush();
    expect([results, discarded.length]).toEqual([['stored'], 1]);
  });
});
