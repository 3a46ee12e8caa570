import { UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { InvalidationFeed } from './invalidation-feed.js';

let clock: FixedClock;
let gaps: number;
let feed: InvalidationFeed;

beforeEach(() => {
  clock = new FixedClock();
  gaps = 0;
  feed = new InvalidationFeed({ clock, maxSilenceMs: 30_000, onGap: () => (gaps += 1) });
});

const receive = (sequence: number, publisher = 'p') => feed.onHeartbeat({ publisher, sequence, intervalMs: 1_000 });

describe('InvalidationFeed', () => {
  it('reports no gap for consecutive numbers', () => {
    [1, 2, 3, 4].forEach((sequence) => receive(sequence));
    expect(gaps).toBe(0);
  });

  it('reports a gap for a missing number', () => {
    [1, 2, 4, 5].forEach((sequence) => receive(sequence));
    expect(gaps).toBe(1);
  });

  it('reports a gap for a repeated or smaller number', () => {
    [1, 2, 2, 1].forEach((sequence) => receive(sequence));
    expect(gaps).toBe(2);
  });

  it('reports one gap for a publisher whose first number it missed', () => {
    receive(17);
    expect(gaps).toBe(1);
    receive(18);
    expect(gaps).toBe(1);
  });

  it('tracks the numbers of each publisher and reports no gap for a new one', () => {
    receive(1, 'one');
    receive(1, 'two');
    receive(2, 'one');
    receive(2, 'two');
    expect(gaps).toBe(0);
    receive(4, 'two');
    expect(gaps).toBe(1);
  });

  it('reports a gap for a new publisher after a silence', () => {
    receive(1, 'old');
    clock.advance(3_001);
    receive(1, 'new');
    expect(gaps).toBe(1);
  });

  it('is alive for thirty seconds without a heartbeat and throws UnavailableError afterwards', () => {
    clock.advance(30_000);
    expect(() => feed.assertAlive()).not.toThrow();
    clock.advance(1);
    expect(() => feed.assertAlive()).toThrow(UnavailableError);
  });

  it('is not alive longer when the time of day is set back', () => {
    clock.advance(30_001);
    clock.set('2020-01-01T00:00:00Z');
    expect(feed.alive).toBe(false);
  });

  it('is alive again after the next heartbeat', () => {
    receive(1);
    clock.advance(40_000);
    expect(feed.alive).toBe(false);
    receive(41);
    expect([feed.alive, gaps]).toEqual([true, 1]);
  });
});
