import type { JsMsg } from 'nats';
import { eventually } from '@rmm/testing-services';
import { keepAlive } from './message-settler.js';

describe('keepAlive', () => {
  let stop: () => void;
  let reports: Map<string, number>;
  afterEach(() => stop());

  const messageOf = (id: string) => ({
    working: () => void reports.set(id, (reports.get(id) ?? 0) + 1),
  });
  const start = (messages: Iterable<unknown>) => {
    reports = new Map();
    stop = keepAlive(messages as Iterable<JsMsg>, 5);
  };

  it('reports the messages of a set again and again until each is settled', async () => {
    const [first, second] = [messageOf('first'), messageOf('second')];
    const messages = new Set([first, second]);
    start(messages);
    await eventually(() => expect(Math.min(...reports.values())).toBeGreaterThan(2));
    messages.delete(first);
    const settledAt = reports.get('first');
    const before = reports.get('second') ?? 0;
    await eventually(() => expect(reports.get('second')).toBeGreaterThan(before + 1));
    expect(reports.get('first')).toBe(settledAt);
  });

  it('lets other work run between the reports of many messages', async () => {
    const seen: number[] = [];
    const look = () => {
      seen.push(reports.size);
      if (reports.size < 2_000) setImmediate(look);
    };
    start(new Set(Array.from({ length: 2_000 }, (_, i) => messageOf(`${i}`))));
    look();
    await eventually(() => expect(reports.size).toBe(2_000));
    expect(seen).toEqual(expect.arrayContaining([500, 1_000, 1_500]));
  });
});
