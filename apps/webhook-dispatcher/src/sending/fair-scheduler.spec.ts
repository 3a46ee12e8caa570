import { eventually } from '@rmm/testing-services';
import { FairScheduler, type Schedulable, type SchedulerLimits } from './fair-scheduler.js';

interface Item extends Schedulable {
  n: number;
}

const WIDE: SchedulerLimits = {
  total: 100,
  slow: 400,
  perWebhook: 10,
  perRoute: 20,
  perOrigin: 200,
  perOrganization: 100,
  perPartner: 500,
};

function setUp(changes: Partial<SchedulerLimits> = {}) {
  const started: Item[] = [];
  const running: { item: Item; done: () => void }[] = [];
  let isOpen = true;
  const scheduler = new FairScheduler<Item>(
    { ...WIDE, ...changes },
    (item, done) => {
      started.push(item);
      running.push({ item, done });
    },
    () => isOpen,
  );
  let n = 0;
  const add = (
    webhookId: string,
    orgId: string,
    count = 1,
    { partnerId = orgId, origin = webhookId, bytes = 0 } = {},
  ) => {
    for (let i = 0; i < count; i += 1)
      scheduler.add({ webhookId, orgId, partnerId, body: Buffer.alloc(bytes), n: (n += 1) }, origin);
  };
  const finish = (count: number, matches: (item: Item) => boolean = () => true) => {
    for (let i = 0; i < count; i += 1) {
      const at = running.findIndex(({ item }) => matches(item));
      running.splice(at, 1)[0]?.done();
    }
  };
  const countOf = (webhookId: string) => started.filter((item) => item.webhookId === webhookId).length;
  return {
    scheduler,
    add,
    finish,
    started,
    running,
    countOf,
    close: () => (isOpen = false),
    open: () => (isOpen = true),
  };
}

/** Lets what continues after input and output run. */
const nextPass = () => new Promise((resolve) => setImmediate(resolve));

describe('FairScheduler', () => {
  it('starts the items of a webhook in order, up to its limit', () => {
    const { add, finish, started, scheduler } = setUp();
    add('w', 'o', 15);
    expect(started.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(scheduler.active).toBe(10);
    finish(3);
    expect(started.map(({ n }) => n).slice(10)).toEqual([11, 12, 13]);
  });

  it('gives partners, then organizations, then webhooks equal shares', () => {
    const { add, finish, started } = setUp({ total: 1 });
    add('first', 'first');
    for (let i = 0; i < 5; i += 1) add(`big-${i}`, `big-org-${i % 2}`, 20, { partnerId: 'big' });
    add('small', 'small', 20);
    started.length = 0;
    finish(12);
    for (let i = 0; i < 11; i += 1) finish(1);
    const counts = (matches: (item: Item) => boolean) => started.filter(matches).length;
    expect(
      Math.abs(counts(({ partnerId }) => partnerId === 'big') - counts(({ orgId }) => orgId === 'small')),
    ).toBeLessThanOrEqual(1);
    expect(
      Math.abs(counts(({ orgId }) => orgId === 'big-org-0') - counts(({ orgId }) => orgId === 'big-org-1')),
    ).toBeLessThanOrEqual(1);
  });

  it('lets a healthy webhook start although another of its organization that uses all its attempts', () => {
    const { add, finish, countOf } = setUp();
    add('hung', 'o', 500);
    add('healthy', 'o', 50);
    expect([countOf('hung'), countOf('healthy')]).toEqual([10, 10]);
    for (let i = 0; i < 40; i += 1) finish(1, ({ webhookId }) => webhookId === 'healthy');
    expect([countOf('hung'), countOf('healthy')]).toEqual([10, 50]);
  });

  it.each([
    ['an organization at an origin', { perRoute: 3 }, 3],
    ['an origin', { perOrigin: 4 }, 4],
    ['an organization', { perOrganization: 5 }, 5],
    ['a partner', { perPartner: 6 }, 6],
    ['all', { total: 7 }, 7],
  ])('limits the items of %s', (_, limits, expected) => {
    const { add, started, finish, scheduler } = setUp(limits);
    for (let i = 0; i < 4; i += 1) add(`w${i}`, 'o', 5, { origin: 'x' });
    expect(started).toHaveLength(expected);
    for (let i = 0; i < 20; i += 1) {
      expect(scheduler.active).toBeLessThanOrEqual(expected);
      finish(1);
    }
    expect(started).toHaveLength(20);
    expect(scheduler.active).toBe(0);
  });

  it('passes capacity that a woken webhook cannot use on to the next', () => {
    const { add, finish, countOf } = setUp({ perOrigin: 1, perOrganization: 1 });
    add('a1', 'a', 1, { origin: 'elsewhere' });
    add('b1', 'b', 1, { origin: 'x' });
    add('a2', 'a', 1, { origin: 'x' });
    add('c1', 'c', 1, { origin: 'x' });
    finish(1, ({ webhookId }) => webhookId === 'b1');
    expect([countOf('a2'), countOf('c1')]).toEqual([0, 1]);
    finish(1, ({ webhookId }) => webhookId === 'a1');
    finish(1, ({ webhookId }) => webhookId === 'c1');
    expect(countOf('a2')).toBe(1);
  });

  it('moves attempts that take longer than a second out of the limit of all', async () => {
    const { add, countOf, scheduler } = setUp({ total: 20 });
    for (let i = 0; i < 10; i += 1) add(`hung-${i}`, `o${i}`, 50);
    add('healthy', 'quiet');
    expect(countOf('healthy')).toBe(0);
    scheduler.age(performance.now() + 1_001);
    await nextPass();
    expect(countOf('healthy')).toBe(1);
  });

  it('keeps slow webhooks below the limit of slow attempts and lets others start', () => {
    const { add, scheduler, countOf } = setUp({ total: 50, slow: 10 });
    add('hung', 'o', 50);
    scheduler.age(performance.now() + 1_001);
    expect(countOf('hung')).toBe(10);
    scheduler.limitWebhook('hung', 30);
    expect(countOf('hung')).toBe(10);
    add('healthy', 'o');
    expect(countOf('healthy')).toBe(1);
  });

  it('changes the limit of a webhook, up and down', () => {
    const { add, finish, scheduler, countOf } = setUp();
    add('w', 'o', 40);
    scheduler.limitWebhook('w', 1);
    finish(10);
    expect([countOf('w'), scheduler.active]).toEqual([11, 1]);
    scheduler.limitWebhook('w', 10);
    expect(scheduler.active).toBe(10);
  });

  it('starts nothing of a paused webhook until its time', async () => {
    const { add, finish, scheduler, countOf } = setUp();
    add('w', 'o', 12);
    scheduler.pauseWebhook('w', performance.now() + 500);
    finish(10);
    expect(countOf('w')).toBe(10);
    await eventually(() => expect(countOf('w')).toBe(12));
  });

  it('starts a paused webhook although its timer fires early', () => {
    const { add, finish, scheduler, countOf } = setUp();
    jest.useFakeTimers({ doNotFake: ['performance'] });
    try {
      add('w', 'o', 12);
      const untilMs = performance.now() + 50;
      scheduler.pauseWebhook('w', untilMs);
      finish(10);
      jest.advanceTimersByTime(60); // the clock has not moved
      expect(countOf('w')).toBe(10);
      while (performance.now() < untilMs);
      jest.advanceTimersByTime(60);
      expect(countOf('w')).toBe(12);
    } finally {
      jest.useRealTimers();
    }
  });

  it('starts nothing while it may not, and everything after resume', () => {
    const { add, scheduler, started, close, open } = setUp();
    close();
    add('w', 'o', 3);
    expect(started).toEqual([]);
    open();
    scheduler.resume();
    expect(started).toHaveLength(3);
  });

  it('counts a webhook with another URL at its new origin', () => {
    const { add, finish, countOf } = setUp({ perOrigin: 1 });
    add('w', 'o', 1, { origin: 'old' });
    add('v', 'o2', 1, { origin: 'new' });
    add('w', 'o', 1, { origin: 'new' });
    expect(countOf('w')).toBe(1);
    finish(1, ({ webhookId }) => webhookId === 'v');
    expect(countOf('w')).toBe(2);
  });

  it('removes and returns the newest queued items', () => {
    const { add, scheduler, finish, started } = setUp();
    add('w', 'o', 20);
    add('v', 'o', 11);
    const taken = scheduler.takeQueued((id) => id === 'w', 2);
    expect(taken.map(({ n }) => n)).toEqual([13, 14, 15, 16, 17, 18, 19, 20]);
    finish(20);
    expect(started).toHaveLength(23);
  });

  it('starts a burst in several passes', async () => {
    const { scheduler, started } = setUp({ total: 1_000 });
    for (let i = 0; i < 200; i += 1)
      scheduler.add({ webhookId: `w${i}`, orgId: `o${i}`, partnerId: 'p', body: null, n: i }, 'x');
    expect(started.length).toBeLessThan(200);
    for (let i = 0; i < 10; i += 1) await nextPass();
    expect(started).toHaveLength(200);
  });

  it('starts few large bodies in one pass, so that a small one of another partner is next', async () => {
    const { add, started, countOf } = setUp();
    add('large', 'o1', 10, { bytes: 240_000 });
    expect(countOf('large')).toBe(2);
    add('small', 'o2');
    await nextPass();
    expect(countOf('small')).toBe(1);
    for (let i = 0; i < 10; i += 1) await nextPass();
    expect(started).toHaveLength(11);
  });
});
