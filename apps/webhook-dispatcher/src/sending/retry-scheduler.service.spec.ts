import { currentContext, runInContext, type Logger } from '@rmm/service-kit';
import type { DispatcherMetrics } from '../dispatcher.metrics.js';
import type { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { partitionOf } from '../replicas/partition-of.js';
import type { ReplicaSignalsService } from '../replicas/replica-signals.service.js';
import type { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { DueRows, OpenDeliveriesRepository, OpenWebhook, WantedRows } from './open-deliveries.repository.js';
import type { QueuedDelivery } from './queued-delivery.js';
import { RetrySchedulerService } from './retry-scheduler.service.js';
import type { SenderService } from './sender.service.js';

describe('RetrySchedulerService', () => {
  let table: Map<string, { id: string; dueMs: number }[]>;
  let reads: WantedRows[][];
  let queued: string[];
  /** Ids of the requests in whose context deliveries were queued. */
  let requestIds: (string | undefined)[];
  let room: number;
  let bytes: number;
  /** Bytes of each delivery. */
  let size: number;
  let isOwner: boolean;
  let open: OpenWebhook[];
  let published: string[];
  let paused: string[];
  let searched: Promise<void>;
  let scheduler: RetrySchedulerService;

  beforeEach(() => {
    jest.useFakeTimers();
    table = new Map();
    reads = [];
    queued = [];
    requestIds = [];
    room = 10;
    bytes = 1_000;
    size = 0;
    isOwner = true;
    open = [];
    published = [];
    paused = [];
    searched = Promise.resolve();
    const repository: Pick<OpenDeliveriesRepository, 'readDue' | 'listOpen'> = {
      listOpen: () => searched.then(() => open),
      readDue: (wanted, known) => {
        reads.push([...wanted]);
        const now = performance.now();
        return Promise.resolve(
          wanted.map(({ webhookId, rows, bytes: fitting, isEmpty }): DueRows => {
            const all = (table.get(webhookId) ?? []).filter(({ id }) => !known.includes(id));
            const due = all.filter(({ dueMs }) => dueMs <= now).slice(0, rows);
            const later = all.filter(({ dueMs }) => dueMs > now).map(({ dueMs }) => dueMs - now);
            return {
              webhookId,
              deliveries: (size <= fitting || isEmpty ? due : []).map(
                ({ id }) => ({ id, webhookId }) as QueuedDelivery,
              ),
              dueCount: due.length,
              nextDueMs: later.length > 0 ? Math.min(...later) : null,
            };
          }),
        );
      },
    };
    const sender: Pick<SenderService, 'room' | 'add' | 'listKnown' | 'dropRetries' | 'pause'> = {
      room: () => ({ maxRows: 10, rows: room, bytes }),
      listKnown: () => queued,
      dropRetries: () => undefined,
      pause: (webhookId) => paused.push(webhookId),
      add: ({ id }) => {
        queued.push(id);
        requestIds.push(currentContext()?.requestId);
        return true;
      },
    };
    scheduler = new RetrySchedulerService(
      repository as OpenDeliveriesRepository,
      sender as SenderService,
      { owns: () => isOwner, canSend: true } as unknown as PartitionLeaseManagerService,
      { publishDeliveriesDue: (id: string) => published.push(id) } as unknown as ReplicaSignalsService,
      { refresh: () => Promise.resolve() } as unknown as SubscriptionIndexService,
      { warn: () => undefined } as unknown as Logger,
      { observeWaiting: () => undefined } as unknown as DispatcherMetrics,
    );
    scheduler.start();
  });

  afterEach(async () => {
    await scheduler.stop();
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  const put = (webhookId: string, id: string, delayMs = 0) =>
    table.set(webhookId, [...(table.get(webhookId) ?? []), { id, dueMs: performance.now() + delayMs }]);

  it('reads a webhook when its first delivery is due, and then not again', async () => {
    put('w', 'a', 150);
    scheduler.addWaiting('w', 'o', 150);
    expect(scheduler.hasDue('w')).toBe(false);
    await pass(100);
    expect(queued).toEqual([]);
    await pass(100);
    expect(queued).toEqual(['a']);
    const count = reads.length;
    await pass(1_000);
    expect([reads.length, scheduler.hasDue('w')]).toEqual([count, false]);
  });

  it('sends in no context of the request that stored a delivery, which the deliveries of others would get too', async () => {
    put('w', 'a');
    runInContext({ requestId: 'r-1' }, () => scheduler.notifyDue({ id: 'w', partnerId: 'p', orgId: 'o' }));
    await pass(100);
    expect([queued, requestIds]).toEqual([['a'], [undefined]]);
  });

  it('waits for the next due time after a read', async () => {
    put('w', 'a');
    put('w', 'b', 250);
    scheduler.addWaiting('w', 'o', 0);
    await pass(200);
    expect([queued, scheduler.hasDue('w')]).toEqual([['a'], false]);
    await pass(100);
    expect(queued).toEqual(['a', 'b']);
  });

  it('reads a webhook whose next delivery does not fit again when there is more room, or none of it in memory', async () => {
    put('w', 'a');
    [room, bytes, size] = [5, 499, 500];
    scheduler.addWaiting('w', 'o', 0);
    await pass(1_000);
    expect(reads).toMatchObject([[{ webhookId: 'w', bytes: 499, isEmpty: false }]]);
    scheduler.wake('w', 'o');
    await pass(100);
    expect([reads.length, queued]).toEqual([2, []]);
    bytes = 500;
    await pass(100);
    expect([reads.length, queued]).toEqual([3, ['a']]);
    put('w', 'b');
    bytes = 400;
    scheduler.addWaiting('w', 'o', 0);
    await pass(500);
    expect(reads.length).toBe(4);
    [room, bytes] = [10, 300];
    await pass(100);
    expect(reads.at(-1)).toMatchObject([{ webhookId: 'w', bytes: 300, isEmpty: true }]);
    expect(queued).toEqual(['a', 'b']);
  });

  it('reads no webhook without room, and all of them in turn when there is', async () => {
    room = 0;
    for (let i = 0; i < 25; i += 1) put('w', `w${i}`);
    put('v', 'v0');
    scheduler.addWaiting('w', 'o', 0);
    scheduler.addWaiting('v', 'o', 0);
    await pass(120);
    expect([queued, scheduler.hasDue('w')]).toEqual([[], true]);
    room = 10;
    bytes = 1_000;
    await pass(1_000);
    expect(queued).toHaveLength(26);
    expect(queued.indexOf('v0')).toBeLessThanOrEqual(10);
  });

  it('finds the open deliveries of partitions that were acquired', async () => {
    put('w', 'a');
    open = [{ webhookId: 'w', orgId: 'o', dueMs: -5_000, pauseMs: 0 }];
    scheduler.search();
    await pass(0);
    expect([queued, paused]).toEqual([['a'], []]);
  });

  it('has new deliveries of acquired partitions wait until their backlog and pauses are known', async () => {
    const partition = partitionOf('o');
    const mustWait = () => scheduler.mustWait({ webhookId: 'w', partition });
    await pass(0);
    let complete: () => void = () => undefined;
    searched = new Promise((resolve) => (complete = resolve));
    scheduler.acquire(new Set([partition]));
    await pass(100);
    expect([mustWait(), scheduler.mustWait({ webhookId: 'v', partition: partition + 1 })]).toEqual([true, false]);
    complete();
    await pass(0);
    expect(mustWait()).toBe(false);
  });

  it('searches acquired partitions again after a failure, and reads nothing before', async () => {
    const partition = partitionOf('o');
    await pass(0);
    put('w', 'a');
    searched = Promise.reject(new Error('no database'));
    searched.catch(() => undefined);
    scheduler.acquire(new Set([partition]));
    scheduler.addWaiting('w', 'o', 0);
    await pass(200);
    expect([queued, scheduler.mustWait({ webhookId: 'v', partition })]).toEqual([[], true]);
    searched = Promise.resolve();
    await pass(1_000);
    expect([queued, scheduler.mustWait({ webhookId: 'v', partition })]).toEqual([['a'], false]);
  });

  it('takes over the pauses of acquired partitions, and no others', async () => {
    open = [{ webhookId: 'w', orgId: 'o', dueMs: null, pauseMs: 60_000 }];
    scheduler.search();
    await pass(0);
    expect(paused).toEqual([]);
    scheduler.acquire(new Set([partitionOf('o')]));
    await pass(100);
    expect([paused, scheduler.hasDue('w')]).toEqual([['w'], false]);
  });

  it('sends what a request stored at once, and notifies the owner of other partitions', async () => {
    put('w', 'a');
    scheduler.notifyDue({ id: 'w', partnerId: 'p', orgId: 'o' });
    await pass(0);
    expect(queued).toEqual(['a']);
    isOwner = false;
    scheduler.notifyDue({ id: 'w', partnerId: 'p', orgId: 'o' });
    expect(published).toEqual(['w']);
  });

  it('forgets the webhooks of partitions that another replica owns', () => {
    scheduler.addWaiting('w', 'o', 0);
    expect(scheduler.hasDue('w')).toBe(true);
    scheduler.drop(new Set(Array.from({ length: 1_024 }, (_, i) => i)));
    expect(scheduler.hasDue('w')).toBe(false);
  });
});
