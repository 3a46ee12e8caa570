import { FixedClock } from './fixed-clock.js';

describe('FixedClock', () => {
  it('stays until time passes, on both clocks', () => {
    const clock = new FixedClock('2026-03-01T00:00:00Z');
    expect(clock.now().toISOString()).toBe('2026-03-01T00:00:00.000Z');
    clock.advance(1_500);
    expect(clock.now().toISOString()).toBe('2026-03-01T00:00:01.500Z');
    expect(clock.monotonicMs()).toBe(1_500);
  });

  it('leaves the monotonic clock when the time of day is set', () => {
    const clock = new FixedClock();
    clock.set('2020-01-01T00:00:00Z');
    expect(clock.nowMs()).toBe(Date.UTC(2020, 0, 1));
    expect(clock.monotonicMs()).toBe(0);
  });
});
