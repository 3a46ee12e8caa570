import { nextRate } from './retry-pacing.service.js';

const CALM = 2_000;

describe('nextRate', () => {
  it('falls from the started retries, not from the allowed ones', () => {
    expect(nextRate(20_000, 10_000, true)).toBe(8_000);
    expect(nextRate(15_000, 4_000, true)).toBe(3_200);
  });

  it('never falls below the minimum', () => {
    expect(nextRate(600, 600, true)).toBe(500);
    expect(nextRate(500, 20, true)).toBe(500);
  });

  it('rises step by step to the maximum while it is used', () => {
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

  it('falls back to the initial rate while it is not used', () => {
    expect(nextRate(20_000, 300, false)).toBe(16_000);
    expect(nextRate(2_100, 300, false)).toBe(CALM);
    expect(nextRate(20_000, 0, false)).toBe(CALM);
  });

  it('starts a burst after a time without retries at the initial rate', () => {
    expect(nextRate(500, 0, true)).toBe(CALM);
  });
});
