import type { WorkerDatabase } from '@rmm/persistence';
import { PurgeEndedSessionsJob } from './purge-ended-sessions.job.js';
import type { SessionsRepository } from './sessions.repository.js';

describe('PurgeEndedSessionsJob', () => {
  let lookedAt: number[];
  let tokens: number;
  let isUp: boolean;
  let job: PurgeEndedSessionsJob;

  beforeEach(() => {
    [lookedAt, tokens, isUp] = [[], 0, true];
    const sessions = {
      purgeUnusedDevices: () => (isUp ? Promise.resolve() : Promise.reject(new Error('database down'))),
      purgeEndedTokens: (_: unknown, hours: number, limit: number) => {
        lookedAt.push(hours);
        const purged = Math.min(tokens, limit);
        tokens -= purged;
        return Promise.resolve(purged);
      },
      purgeEnded: () => Promise.resolve(0),
    };
    job = new PurgeEndedSessionsJob({} as WorkerDatabase, sessions as unknown as SessionsRepository);
  });

  it('looks at the sessions of three days first, then at those of two hours', async () => {
    for (let run = 0; run < 3; run++) await job.run();
    expect(lookedAt).toEqual([72, 2, 2]);
  });

  it('looks at those of three days again after a run that failed', async () => {
    await job.run();
    isUp = false;
    await expect(job.run()).rejects.toThrow('database down');
    isUp = true;
    await job.run();
    expect(lookedAt).toEqual([72, 72]);
  });

  it('purges more tokens than a batch', async () => {
    tokens = 2_500;
    await job.run();
    expect([tokens, lookedAt.length]).toEqual([0, 3]);
  });
});
