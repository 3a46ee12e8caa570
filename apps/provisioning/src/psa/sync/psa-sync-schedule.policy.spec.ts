import { secondsToNextRun, type RunEnd } from './psa-sync-schedule.policy.js';

describe('secondsToNextRun', () => {
  const HOUR = 60;
  const failed = (failures: number): RunEnd => ({ kind: 'failed', failures });

  it.each<[string, RunEnd, number, number]>([
    ['the interval after a complete run', { kind: 'complete' }, HOUR, 3_600],
    ['a minute after a run that stopped at its limit', { kind: 'truncated' }, HOUR, 60],
    ['five minutes after the first failure', failed(1), HOUR, 300],
    ['ten minutes after the second', failed(2), HOUR, 600],
    ['forty minutes after the fourth', failed(4), HOUR, 2_400],
    ['the interval once the doubled wait would exceed it', failed(5), HOUR, 3_600],
    ['the interval after any number of failures', failed(1_000_000), 10_080, 604_800],
  ])('waits %s', (_what, end, interval, seconds) => {
    expect(secondsToNextRun(end, interval, 0.5)).toBe(seconds);
  });

  it('varies the wait by a tenth in both directions', () => {
    expect(secondsToNextRun({ kind: 'complete' }, HOUR, 0)).toBe(3_240);
    expect(secondsToNextRun({ kind: 'complete' }, HOUR, 1)).toBe(3_960);
  });
});
