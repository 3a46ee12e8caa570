import { Clock } from './clock.service.js';

describe('Clock', () => {
  it('returns the time of the system as a date and in milliseconds', () => {
    const clock = new Clock();
    const before = Date.now();
    expect(clock.nowMs()).toBeGreaterThanOrEqual(before);
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(before);
    expect(clock.now().getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('measures elapsed time independent of the time of day', () => {
    const clock = new Clock();
    const from = clock.monotonicMs();
    jest.spyOn(Date, 'now').mockReturnValue(0);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(from);
    jest.restoreAllMocks();
  });
});
