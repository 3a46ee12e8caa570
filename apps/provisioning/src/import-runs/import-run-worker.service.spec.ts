import type { UserCaller } from '@rmm/access';
import type { ConcurrencyLimits } from '@rmm/rate-limits';
import { RateLimitedError, type Logger } from '@rmm/service-kit';
import type { ActingUserService } from './acting-user.service.js';
import { ImportRunWorkerService, type ImportStep } from './import-run-worker.service.js';
import { ImportLeaseLost, ImportRunFailed } from './import-run.errors.js';
import type { ImportRunsRepository, LeasedRun } from './import-runs.repository.js';

describe('ImportRunWorkerService', () => {
  let run: LeasedRun | null;
  let calls: string[];
  let chunks: (() => Promise<boolean>)[];
  let worker: ImportRunWorkerService;

  beforeEach(() => {
    calls = [];
    chunks = [];
    run = { id: 'r', state: 'committing', partnerId: 'p', updatedAt: new Date() } as LeasedRun;
    const record =
      (name: string) =>
      (...given: unknown[]) =>
        Promise.resolve(void calls.push(`${name} ${JSON.stringify(given.slice(1))}`));
    const runs = {
      lease: () => Promise.resolve(run),
      release: record('release'),
      fail: record('fail'),
    } as unknown as ImportRunsRepository;
    const users = {
      revalidate: () => Promise.resolve((calls.push('revalidate'), {} as UserCaller)),
    } as unknown as ActingUserService;
    const concurrency = {
      run: (_: unknown, __: unknown, work: () => unknown) => work(),
    } as unknown as ConcurrencyLimits;
    const logger = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;
    const step = { runChunk: () => chunks.shift()?.() ?? Promise.resolve(false) } as ImportStep as never;
    worker = new ImportRunWorkerService(runs, users, concurrency, logger, step, step, step, step);
  });

  it('returns false when no run waits', async () => {
    run = null;
    expect(await worker.processNext()).toBe(false);
    expect(calls).toEqual([]);
  });

  it('checks the access of the user before each chunk and releases the run at the end', async () => {
    chunks = [() => Promise.resolve(true), () => Promise.resolve(false)];
    expect(await worker.processNext()).toBe(true);
    expect(calls).toEqual(['revalidate', 'revalidate', 'release []']);
  });

  it.each<[string, Error, string[]]>([
    ['leaves a run whose lease is lost', new ImportLeaseLost(), []],
    ['waits when the partner has its imports already', new RateLimitedError(), ['release [true]']],
    ['tries again after an unexpected error', new Error('connection lost'), ['release [true]']],
    [
      'ends a run that cannot go on',
      new ImportRunFailed('access_revoked', 'no access'),
      ['fail [{"code":"access_revoked","error":"no access","step":"committing"}]'],
    ],
  ])('%s', async (_, error, expected) => {
    chunks = [() => Promise.reject(error)];
    await worker.processNext();
    expect(calls.slice(1)).toEqual(expected);
  });

  it('ends a run that has made no progress for ten minutes, without the text of the error', async () => {
    run = { ...(run as LeasedRun), updatedAt: new Date(Date.now() - 11 * 60_000) };
    chunks = [() => Promise.reject(new Error('password of the database'))];
    await worker.processNext();
    expect(calls[1]).toContain('import_failed');
    expect(calls[1]).not.toContain('password');
  });
});
