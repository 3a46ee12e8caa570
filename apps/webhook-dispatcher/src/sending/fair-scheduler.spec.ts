import { FairScheduler, type SchedulerLimits, type SchedulerOptions, type Schedulable } from './fair-scheduler.js';

interface Job extends Schedulable {
  name: string;
  origin: string;
  isRetry: boolean;
}

interface AddOptions {
  retry?: boolean;
  webhook?: string;
}

function setUp(limits: Partial<SchedulerLimits> = {}, options: SchedulerOptions = {}) {
  const running = new Map<string, { job: Job; done: () => void }>();
  const order: string[] = [];
  const all = { total: 10, perWebhook: 9, perOrigin: 2, perOrganization: 3, ...limits };
  const scheduler = new FairScheduler<Job>(
    all,
    (job, origin, done) => {
      expect(origin).toBe(job.origin);
      order.push(job.name);
      running.set(job.name, { job, done });
    },
    options,
  );
  const add = (name: string, orgId: string, origin: string, { retry = false, webhook }: AddOptions = {}) =>
    scheduler.add({ name, orgId, origin, webhookId: webhook ?? `${orgId}-${origin}`, isRetry: retry }, origin, retry);
  const finish = (name: string) => {
    const found = running.get(name);
    if (!found) throw new Error(`${name} is not running`);
    running.delete(name);
    found.done();
  };
  return {
    ...{ scheduler, add, finish, order },
    running: () => [...running.keys()].sort(),
    jobs: () => [...running.values()].map(({ job }) => job),
  };
}

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('FairScheduler', () => {
  it('starts items in order up to the limit', () => {
    const { add, order, scheduler } = setUp();
    add('1', 'a', 'x');
    add('2', 'a', 'x');
    expect(order).toEqual(['1', '2']);
    expect([scheduler.active, scheduler.queued]).toEqual([2, 0]);
  });

  it('limits an origin over all organizations', () => {
    const { add, finish, running } = setUp();
    ['1', '2', '3'].forEach((name) => add(name, 'a', 'x'));
    add('4', 'b', 'x');
    expect(running()).toEqual(['1', '2']);
    finish('1');
    finish('2');
    expect(running()).toEqual(['3', '4']);
  });

  it('limits an organization over all origins', () => {
    const { add, finish, running } = setUp();
    ['1', '2', '3', '4'].forEach((name) => add(name, 'a', `origin-${name}`));
    add('5', 'b', 'origin-5');
    expect(running()).toEqual(['1', '2', '3', '5']);
    finish('2');
    expect(running()).toEqual(['1', '3', '4', '5']);
  });

  it('limits a webhook and leaves the rest of its origin to others', () => {
    const { add, finish, running } = setUp({ perWebhook: 2, perOrigin: 3, perOrganization: 9 });
    ['1', '2', '3'].forEach((name) => add(name, 'a', 'x'));
    add('4', 'a', 'x', { webhook: 'other' });
    expect(running()).toEqual(['1', '2', '4']);
    finish('4');
    expect(running()).toEqual(['1', '2']);
    finish('1');
    expect(running()).toEqual(['2', '3']);
  });

  it('limits all items together', () => {
    const { add, finish, running } = setUp({ total: 2, perOrigin: 9, perOrganization: 9 });
    ['1', '2', '3'].forEach((name) => add(name, name, name));
    expect(running()).toEqual(['1', '2']);
    finish('1');
    expect(running()).toEqual(['2', '3']);
  });

  it('starts a late item before the long queue of another organization', () => {
    const { add, finish, order } = setUp({ total: 1, perOrigin: 9, perOrganization: 9 });
    for (let i = 0; i < 50; i += 1) add(`noisy-${i}`, 'noisy', 'x');
    add('quiet', 'quiet', 'y');
    finish('noisy-0');
    finish('noisy-1');
    expect(order).toContain('quiet');
  });

  it('starts every second item for an organization with a thousand origins', () => {
    const { add, finish, order, running } = setUp({ total: 1, perOrigin: 9, perOrganization: 9 });
    for (let i = 0; i < 1_000; i += 1) add(`noisy-${i}`, 'noisy', `origin-${i}`);
    for (let i = 0; i < 10; i += 1) add(`quiet-${i}`, 'quiet', 'y');
    while (order.length < 22) finish(running()[0] ?? '');
    expect(order.filter((name) => name.startsWith('quiet'))).toHaveLength(10);
  });

  it('starts every second item of an origin for an organization with a thousand webhooks there', () => {
    const { add, finish, order, running } = setUp({ total: 9, perOrigin: 1, perOrganization: 9 });
    for (let i = 0; i < 1_000; i += 1) add(`noisy-${i}`, 'noisy', 'x', { webhook: `webhook-${i}` });
    for (let i = 0; i < 10; i += 1) add(`quiet-${i}`, 'quiet', 'x');
    while (order.length < 22) finish(running()[0] ?? '');
    expect(order.filter((name) => name.startsWith('quiet'))).toHaveLength(10);
  });

  it('wakes another route when the woken one cannot start', () => {
    const { add, finish, running } = setUp({ total: 10, perOrigin: 1, perOrganization: 1 });
    add('a-x', 'a', 'x');
    add('b-y', 'b', 'y');
    add('b-x', 'b', 'x'); // waits for x; its organization is at its cap as well
    add('c-x', 'c', 'x'); // waits for x behind it
    finish('a-x');
    expect(running()).toEqual(['b-y', 'c-x']);
    finish('c-x');
    finish('b-y');
    expect(running()).toEqual(['b-x']);
  });

  it('reserves a quarter of every limit for first attempts', () => {
    const wide = { total: 100, perWebhook: 100, perOrigin: 100, perOrganization: 100 };
    for (const limit of ['total', 'perWebhook', 'perOrigin', 'perOrganization'] as const) {
      const { add, running } = setUp({ ...wide, [limit]: 8 });
      for (let i = 0; i < 20; i += 1) add(`retry-${i}`, 'a', 'x', { retry: true });
      expect(running()).toHaveLength(6);
      add('first', 'a', 'x');
      expect(running()).toContain('first');
    }
  });

  it('alternates retries and first attempts', () => {
    const { add, finish, order, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    for (let i = 0; i < 5; i += 1) add(`first-${i}`, 'a', 'x');
    for (let i = 0; i < 5; i += 1) add(`retry-${i}`, 'a', 'x', { retry: true });
    while (running().length > 0) finish(running()[0] ?? '');
    expect(order.slice(0, 6).filter((name) => name.startsWith('retry'))).toHaveLength(3);
  });

  it('starts nothing while `canStart` is false and continues after `resume`', () => {
    let canStart = false;
    const { scheduler, add, running } = setUp({}, { canStart: () => canStart });
    add('1', 'a', 'x');
    expect(running()).toEqual([]);
    canStart = true;
    scheduler.resume();
    expect(running()).toEqual(['1']);
  });

  it('changes the limit of an origin while it is in use', () => {
    const { scheduler, add, finish, running } = setUp({ perOrigin: 3, perOrganization: 9 });
    for (let i = 1; i <= 8; i += 1) add(`${i}`, 'a', 'x');
    scheduler.limitOrigin('x', 1);
    finish('1');
    finish('2');
    expect(running()).toEqual(['3']);
    finish('3');
    expect(running()).toEqual(['4']);
    scheduler.limitOrigin('x', 3);
    expect(running()).toEqual(['4', '5', '6']);
  });

  it('uses `limitOf` for a new origin', () => {
    const { add, running } = setUp({ perOrigin: 3 }, { limitOf: (origin) => (origin === 'x' ? 1 : 3) });
    ['1', '2'].forEach((name) => add(name, 'a', 'x'));
    ['3', '4'].forEach((name) => add(name, 'b', 'y'));
    expect(running()).toEqual(['1', '3', '4']);
  });

  it('keeps the order of a webhook over thousands of items', () => {
    const { add, finish, order, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    const names = Array.from({ length: 3_000 }, (_, i) => `${i}`);
    names.forEach((name) => add(name, 'a', 'x'));
    while (running().length > 0) finish(running()[0] ?? '');
    expect(order).toEqual(names);
  });

  it('returns the queued items and continues with new ones', () => {
    const { scheduler, add, finish, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    ['1', '2', '3'].forEach((name) => add(name, 'a', 'x'));
    expect(scheduler.clear().map(({ name }) => name)).toEqual(['2', '3']);
    add('4', 'a', 'x');
    expect(running()).toEqual(['1']);
    finish('1');
    expect(running()).toEqual(['4']);
  });

  it('returns the queued items of given origins and keeps the rest', () => {
    const { scheduler, add, finish, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    add('1', 'a', 'x');
    add('2', 'a', 'x');
    add('3', 'b', 'y');
    expect(scheduler.clear((origin) => origin === 'x').map(({ name }) => name)).toEqual(['2']);
    finish('1');
    expect(running()).toEqual(['3']);
  });

  it('returns the newest items of an organization', () => {
    const { scheduler, add } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    for (let i = 0; i < 11; i += 1) add(`a-${i}`, 'a', 'x');
    add('b', 'b', 'y');
    const taken = scheduler.takeNewest('a', 8).map(({ name }) => name);
    expect(taken).toEqual(['a-5', 'a-6', 'a-7', 'a-8', 'a-9', 'a-10']);
    expect([scheduler.countQueued('a'), scheduler.countQueued('b'), scheduler.queued]).toEqual([4, 1, 5]);
    expect([...scheduler.organizations()].find(({ orgId }) => orgId === 'b')).toEqual({
      orgId: 'b',
      queued: 1,
      ended: 0,
    });
  });

  it('queues the items of a webhook by origin after its URL changed', () => {
    const { add, finish, order, running } = setUp({ total: 9, perOrigin: 1, perOrganization: 9 });
    add('1', 'a', 'x', { webhook: 'w' });
    add('2', 'a', 'x', { webhook: 'w' });
    add('3', 'a', 'y', { webhook: 'w' });
    expect(running()).toEqual(['1', '3']);
    finish('3');
    finish('1');
    expect(order).toEqual(['1', '3', '2']);
  });

  it('counts an item that ends twice once', () => {
    let end = () => undefined as void;
    const scheduler = new FairScheduler<Schedulable>(
      { total: 1, perWebhook: 1, perOrigin: 1, perOrganization: 1 },
      (_, __, done) => (end = done),
    );
    scheduler.add({ webhookId: 'w', orgId: 'a' }, 'x', false);
    end();
    end();
    expect(scheduler.active).toBe(0);
  });

  describe.each(Array.from({ length: 20 }, (_, i) => i + 1))('in random order %i', (seed) => {
    it('keeps every limit, uses free capacity, keeps the order and runs every item', () => {
      const below = numbers(seed);
      const limits = {
        total: 2 + below(12),
        perWebhook: 1 + below(4),
        perOrigin: 1 + below(5),
        perOrganization: 1 + below(6),
      };
      const { scheduler, add, finish, order, jobs } = setUp(limits);
      const waiting: Job[] = [];
      const share = (limit: number) => Math.max(1, Math.floor(limit * 0.75));
      const inUse = (job: Job) => {
        const active = jobs();
        return [
          [active, limits.total],
          [active.filter(({ orgId }) => orgId === job.orgId), limits.perOrganization],
          [active.filter(({ origin }) => origin === job.origin), limits.perOrigin],
          [active.filter(({ webhookId }) => webhookId === job.webhookId), limits.perWebhook],
        ] as [Job[], number][];
      };
      const check = () => {
        for (const job of jobs()) {
          for (const [active, limit] of inUse(job)) {
            expect(active.length).toBeLessThanOrEqual(limit);
            expect(active.filter(({ isRetry }) => isRetry).length).toBeLessThanOrEqual(share(limit));
          }
        }
        for (let job = waiting.findIndex(({ name }) => order.includes(name)); job >= 0;) {
          waiting.splice(job, 1);
          job = waiting.findIndex(({ name }) => order.includes(name));
        }
        for (const job of waiting) {
          const isBlocked = inUse(job).some(
            ([active, limit]) =>
              active.length >= limit || (job.isRetry && active.filter((other) => other.isRetry).length >= share(limit)),
          );
          expect([job.name, isBlocked]).toEqual([job.name, true]);
        }
        expect([scheduler.active, scheduler.queued]).toEqual([jobs().length, waiting.length]);
      };
      const added: Job[] = [];
      for (let step = 0; step < 160; step += 1) {
        const active = jobs();
        if (active.length > 0 && below(100) < 45) {
          finish(active[below(active.length)]?.name ?? '');
        } else {
          const orgId = `org-${below(5)}`;
          const origin = `origin-${below(4)}`;
          const webhookId = `${orgId}-${origin}-${below(3)}`;
          const job = { name: `${step}`, orgId, origin, webhookId, isRetry: below(2) === 0 };
          waiting.push(job);
          added.push(job);
          add(job.name, orgId, origin, { webhook: webhookId, retry: job.isRetry });
        }
        check();
      }
      for (let active = jobs(); active.length > 0; active = jobs()) {
        finish(active[below(active.length)]?.name ?? '');
        check();
      }
      expect(order).toHaveLength(added.length);
      const byName = new Map(added.map((job) => [job.name, job]));
      const classOf = (name: string) => `${byName.get(name)?.webhookId} ${byName.get(name)?.isRetry}`;
      for (const priorityClass of new Set(added.map(({ name }) => classOf(name)))) {
        const names = added.map(({ name }) => name).filter((name) => classOf(name) === priorityClass);
        expect(order.filter((name) => classOf(name) === priorityClass)).toEqual(names);
      }
      expect([...scheduler.organizations()]).toEqual([]);
    });
  });

  it('limits retries to the allowed number and first attempts not at all', () => {
    const { add, order, scheduler, running, finish } = setUp({ total: 20, perOrigin: 10, perOrganization: 10 });
    scheduler.allowRetries(2.5);
    for (const name of ['r1', 'r2', 'r3', 'r4']) add(name, 'a', 'x', { retry: true });
    add('1', 'a', 'x');
    add('2', 'b', 'x', { retry: true });
    expect(running()).toEqual(['1', 'r1', 'r2']);
    expect([scheduler.queued, scheduler.queuedRetries, scheduler.startedRetries]).toEqual([3, 3, 2]);
    finish('r1');
    add('3', 'a', 'x');
    expect(order).toEqual(['r1', 'r2', '1', '3']);
    scheduler.allowRetries(1);
    scheduler.allowRetries(0.4);
    expect(scheduler.startedRetries).toBe(3);
    scheduler.allowRetries(Infinity);
    expect(new Set(order)).toEqual(new Set(['r1', 'r2', 'r3', 'r4', '1', '2', '3']));
    expect([scheduler.queued, scheduler.queuedRetries]).toEqual([0, 0]);
  });

  it('counts queued retries after some were removed', () => {
    const { add, scheduler } = setUp({ total: 0 });
    for (const name of ['r1', 'r2', 'r3']) add(name, 'a', 'x', { retry: true });
    add('1', 'a', 'x');
    scheduler.takeNewest('a', 2);
    expect([scheduler.queued, scheduler.queuedRetries]).toEqual([2, 1]);
    scheduler.clear();
    expect([scheduler.queued, scheduler.queuedRetries]).toEqual([0, 0]);
  });
});
