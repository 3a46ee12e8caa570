import { nextRate } from './retry-pacing.service.js';

const CALM = 2_000;

describe('nextRate', () => {
  it('falls from what really began, not from what was allowed', () => {
    expect(nextRate(20_000, 10_000, true)).toBe(8_000);
    expect(nextRate(15_000, 4_000, true)).toBe(3_200);
  });

  it('never falls below what is always let through', () => {
    expect(nextRate(600, 600, true)).toBe(500);
    expect(nextRate(500, 20, true)).toBe(500);
  });

  it('rises step by step while it is used and there is room, up to the highest', () => {
    let pace = 500;
    let steps = 0;
    for (; pace < 20_000; steps += 1) {
      const next = nextRate(pace, pace, false);
      expect(next).toBeGreaterThan(pace);
      pace = next;
    }
    // Two seconds at twenty steps each.
    expect(steps).toBeGreaterThan(30);
    expect(steps).toBeLessThan(50);
    expect(nextRate(pace, pace, false)).toBe(20_000);
  });

  it('falls back to where it began while it is not used', () => {
    expect(nextRate(20_000, 300, false)).toBe(16_000);
    expect(nextRate(2_100, 300, false)).toBe(CALM);
    expect(nextRate(20_000, 0, false)).toBe(CALM);
  });

  it('meets a storm that follows a time without retries as at the start, however busy that was', () => {
    expect(nextRate(500, 0, true)).toBe(CALM);
  });
});
