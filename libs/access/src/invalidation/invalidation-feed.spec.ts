import { FixedClock, UnavailableError } from '@rmm/service-kit';
import { InvalidationFeed } from './invalidation-feed.js';

let clock: FixedClock;
let gaps: number;
let feed: InvalidationFeed;

beforeEach(() => {
  clock = new FixedClock();
  gaps = 0;
  feed = new InvalidationFeed({ clock, maxSilenceMs: 30_000, onGap: () => (gaps += 1) });
});

const beat = (sequence: number, publisher = 'p') => feed.heard({ publisher, sequence, intervalMs: 1_000 });

describe('the invalidation feed', () => {
  it('trusts numbers that follow each other', () => {
    [1, 2, 3, 4].forEach((sequence) => beat(sequence));
    expect(gaps).toBe(0);
  });

  it('takes a hole in the numbers for a lost invalidation', () => {
    [1, 2, 4, 5].forEach((sequence) => beat(sequence));
    expect(gaps).toBe(1);
  });

  it('takes a number that comes again, or goes back, for a gap', () => {
    [1, 2, 2, 1].forEach((sequence) => beat(sequence));
    expect(gaps).toBe(2);
  });

  it('starts afresh with a publisher whose beginning it has not heard', () => {
    beat(17);
    expect(gaps).toBe(1);
    beat(18);
    expect(gaps).toBe(1);
  });

  it('takes a new replica as it comes, and follows each by its own numbers', () => {
    beat(1, 'one');
    beat(1, 'two');
    beat(2, 'one');
    beat(2, 'two');
    expect(gaps).toBe(0);
    beat(4, 'two');
    expect(gaps).toBe(1);
  });

  it('starts afresh with a new publisher after a silence in which the old one may have spoken', () => {
    beat(1, 'old');
    clock.advance(3_001);
    beat(1, 'new');
    expect(gaps).toBe(1);
  });

  it('is alive for thirty seconds of silence from its start, and no longer', () => {
    clock.advance(30_000);
    expect(() => feed.assertAlive()).not.toThrow();
    clock.advance(1);
    expect(() => feed.assertAlive()).toThrow(UnavailableError);
  });

  it('comes back to life with the next heartbeat', () => {
    beat(1);
    clock.advance(40_000);
    expect(feed.alive).toBe(false);
    beat(41);
    expect([feed.alive, gaps]).toEqual([true, 1]);
  });
});
