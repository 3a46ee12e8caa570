import { setImmediate as nextIteration } from 'node:timers/promises';
import { PasswordEstimator, SCORED_CHARACTERS } from './password-estimator.js';
import { HashingOverloaded } from './password.errors.js';

const HOSTILE = ['P@$$w0rd'.repeat(16), '1991-12-20'.repeat(13), 'p4$$w0rd1!'.repeat(13), '4'.repeat(128)];

/** An estimator whose scorer notes what it is handed. */
function recordingEstimator() {
  const handed: string[] = [];
  const estimator = new PasswordEstimator((password) => {
    handed.push(password);
    return 3;
  }, new Set());
  return { estimator, handed };
}

/** Returns the longest CPU time, in ms, of an iteration of the event loop: other processes do not add to it. */
async function longestIterationMs(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let isDone = false;
  const iterate = async () => {
    while (!isDone) {
      const before = process.cpuUsage();
      await nextIteration();
      const { user, system } = process.cpuUsage(before);
      longest = Math.max(longest, (user + system) / 1_000);
    }
  };
  await Promise.all([iterate(), work.finally(() => (isDone = true))]);
  return longest;
}

describe('PasswordEstimator', () => {
  it.each(HOSTILE)('hands the scorer at most 24 characters of %s', async (password) => {
    const { estimator, handed } = recordingEstimator();
    await expect(estimator.score(password, [])).resolves.toBe(3);
    expect(handed).toEqual([password.slice(0, SCORED_CHARACTERS)]);
    expect(SCORED_CHARACTERS).toBeLessThanOrEqual(24);
  });

  it('counts characters instead of UTF-16 units', async () => {
    const { estimator, handed } = recordingEstimator();
    await estimator.score('🐎'.repeat(128), []);
    expect(handed).toEqual(['🐎'.repeat(24)]);
  });

  it('scores one password in an iteration of the event loop, however many callers wait', async () => {
    const { estimator, handed } = recordingEstimator();
    const scores = Promise.all(Array.from({ length: 20 }, (_, n) => estimator.score(`password ${n}`, [])));
    const scoredPerIteration: number[] = [];
    for (let before = 0; handed.length < 20; before = handed.length) {
      await nextIteration();
      scoredPerIteration.push(handed.length - before);
    }
    await scores;
    expect(Math.max(...scoredPerIteration)).toBe(1);
  });

  it('refuses callers beyond 200 that wait and serves them once the others are done', async () => {
    const { estimator } = recordingEstimator();
    const waiting = Array.from({ length: 200 }, () => estimator.score('violet', []));
    await expect(estimator.score('violet', [])).rejects.toThrow(HashingOverloaded);
    await Promise.all(waiting);
    await expect(estimator.score('violet', [])).resolves.toBe(3);
  });

  it('refuses repeated patterns and accepts passphrases longer than what is scored', async () => {
    const estimator = await PasswordEstimator.load();
    expect(await estimator.score('P@$$w0rd'.repeat(16), [])).toBeLessThan(2);
    expect(await estimator.score('4'.repeat(128), [])).toBeLessThan(2);
    expect(await estimator.score('violet umbrella tango harvest lantern orbit', [])).toBe(4);
    expect(estimator.isCommon('PassWord')).toBe(true);
    const scores = Array.from({ length: 20 }, (_, n) => estimator.score(HOSTILE[n % HOSTILE.length], []));
    // A wide margin: the exact figure comes from `./fleet bench login`; unbounded input needs several seconds.
    expect(await longestIterationMs(Promise.all(scores))).toBeLessThan(500);
  });
});
