import { type Destination, Slots } from './slots.js';

interface Job extends Destination {
  name: string;
}

function setUp(limits = { total: 10, perOrigin: 2, perOrganization: 3 }) {
  const running = new Map<string, () => void>();
  const order: string[] = [];
  const slots = new Slots<Job>(limits, (job, done) => {
    order.push(job.name);
    running.set(job.name, done);
  });
  const add = (name: string, orgId: string, origin: string) => slots.add({ name, orgId, origin }, { orgId, origin });
  const finish = (name: string) => {
    const done = running.get(name);
    if (!done) throw new Error(`${name} is not running`);
    running.delete(name);
    done();
  };
  return { slots, add, finish, order, running: () => [...running.keys()].sort() };
}

describe('Slots', () => {
  it('starts what there is room for, in order', () => {
    const { add, order, slots } = setUp();
    add('1', 'a', 'x');
    add('2', 'a', 'x');
    expect(order).toEqual(['1', '2']);
    expect([slots.active, slots.queued]).toEqual([2, 0]);
  });

  it('caps an origin over all organisations', () => {
    const { add, finish, running } = setUp();
    ['1', '2', '3'].forEach((name) => add(name, 'a', 'x'));
    add('4', 'b', 'x');
    expect(running()).toEqual(['1', '2']);
    finish('1');
    finish('2');
    expect(running()).toEqual(['3', '4']);
  });

  it('caps an organisation over all origins', () => {
    const { add, finish, running } = setUp();
    ['1', '2', '3', '4'].forEach((name) => add(name, 'a', `origin-${name}`));
    add('5', 'b', 'origin-5');
    expect(running()).toEqual(['1', '2', '3', '5']);
    finish('2');
    expect(running()).toEqual(['1', '3', '4', '5']);
  });

  it('caps all together', () => {
    const { add, finish, running } = setUp({ total: 2, perOrigin: 9, perOrganization: 9 });
    ['1', '2', '3'].forEach((name) => add(name, name, name));
    expect(running()).toEqual(['1', '2']);
    finish('1');
    expect(running()).toEqual(['2', '3']);
  });

  it('lets a late one pass a long queue of somebody else', () => {
    const { add, finish, order } = setUp({ total: 1, perOrigin: 9, perOrganization: 9 });
    for (let i = 0; i < 50; i += 1) add(`noisy-${i}`, 'noisy', 'x');
    add('quiet', 'quiet', 'y');
    finish('noisy-0');
    finish('noisy-1');
    expect(order).toContain('quiet');
  });

  it('passes a turn on when the lane that was woken cannot use it', () => {
    const { add, finish, running } = setUp({ total: 10, perOrigin: 1, perOrganization: 1 });
    add('a-x', 'a', 'x');
    add('b-y', 'b', 'y');
    add('b-x', 'b', 'x'); // waits for x; its organisation is at its cap as well
    add('c-x', 'c', 'x'); // waits for x behind it
    finish('a-x');
    expect(running()).toEqual(['b-y', 'c-x']);
    finish('c-x');
    finish('b-y');
    expect(running()).toEqual(['b-x']);
  });

  it('runs everything in the end, whatever the caps', () => {
    const { slots, add, finish, order, running } = setUp({ total: 3, perOrigin: 2, perOrganization: 2 });
    for (let i = 0; i < 300; i += 1) add(`${i}`, `org-${i % 7}`, `origin-${i % 5}`);
    while (running().length > 0) finish(running()[0] ?? '');
    expect(order).toHaveLength(300);
    expect([slots.active, slots.queued]).toEqual([0, 0]);
  });

  it('keeps the order inside a lane over thousands', () => {
    const { add, finish, order, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    const names = Array.from({ length: 3_000 }, (_, i) => `${i}`);
    names.forEach((name) => add(name, 'a', 'x'));
    while (running().length > 0) finish(running()[0] ?? '');
    expect(order).toEqual(names);
  });

  it('gives back what has not begun, and goes on with what comes after', () => {
    const { slots, add, finish, running } = setUp({ total: 1, perOrigin: 1, perOrganization: 1 });
    ['1', '2', '3'].forEach((name) => add(name, 'a', 'x'));
    expect(slots.clear().map(({ name }) => name)).toEqual(['2', '3']);
    add('4', 'a', 'x');
    expect(running()).toEqual(['1']);
    finish('1');
    expect(running()).toEqual(['4']);
  });

  it('counts a job that ends twice once', () => {
    let end = () => undefined as void;
    const slots = new Slots<Job>({ total: 1, perOrigin: 1, perOrganization: 1 }, (_, done) => (end = done));
    slots.add({ name: '1', orgId: 'a', origin: 'x' }, { orgId: 'a', origin: 'x' });
    end();
    end();
    expect(slots.active).toBe(0);
  });
});
