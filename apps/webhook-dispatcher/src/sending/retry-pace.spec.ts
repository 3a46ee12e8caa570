import { nextPace } from './retry-pace.js';

describe('nextPace', () => {
  it('falls from what really began, not from what was allowed', () => {
    expect(nextPace(Infinity, 10_000, true)).toBe(8_000);
    expect(nextPace(15_000, 4_000, true)).toBe(3_200);
  });

  it('never falls below what is always let through', () => {
    expect(nextPace(600, 600, true)).toBe(500);
    expect(nextPace(500, 0, true)).toBe(500);
  });

  it('rises step by step once there is room, until there is no limit any more', () => {
    let pace = 500;
    let steps = 0;
    for (; pace < Infinity; steps += 1) {
      const next = nextPace(pace, pace, false);
      expect(next).toBeGreaterThan(pace);
      pace = next;
    }
    // Two seconds at twenty steps each.
    expect(steps).toBeGreaterThan(30);
    expect(steps).toBeLessThan(50);
  });
});
