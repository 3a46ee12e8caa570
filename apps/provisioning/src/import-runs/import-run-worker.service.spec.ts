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
  let stop: AbortController;
  let isAnyWaiting: jest.Mock;

  beforeEach(() => {
    stop = new AbortController();
    isAnyWaiting = jest.fn(() => Promise.resolve(true));
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
      isAnyWaiting,
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
    expect(await worker.processNext(stop.signal)).toBe(false);
    expect(calls).toEqual([]);
  });

  it('checks the access of the user before each chunk and releases the run at the end', async () => {
    chunks = [() => Promise.resolve(true), () => Promise.resolve(false)];
    expect(await worker.processNext(stop.signal)).toBe(true);
    expect(calls).toEqual(['revalidate', 'revalidate', 'release []']);
  });

  it('gives another run its turn after a slice of time, and goes on while none waits', async () => {
    const now = jest.spyOn(performance, 'now');
    isAnyWaiting.mockResolvedValueOnce(false);
    for (const seconds of [1, 3, 4, 5]) {
      chunks.push(() => Promise.resolve(Boolean(now.mockReturnValue(seconds * 1_000))));
    }
    now.mockReturnValue(0);
    await worker.processNext(stop.signal);
    now.mockRestore();
    expect(isAnyWaiting).toHaveBeenCalledTimes(2); // after three and four seconds
    expect(chunks).toHaveLength(1);
    expect(calls.at(-1)).toBe('release []');
  });

  it('ends a slice after ten seconds although no other run waits', async () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    isAnyWaiting.mockResolvedValue(false);
    for (const seconds of [9, 10, 11]) {
      chunks.push(() => Promise.resolve(Boolean(now.mockReturnValue(seconds * 1_000))));
    }
    await worker.processNext(stop.signal);
    now.mockRestore();
    expect(chunks).toHaveLength(1);
  });

  it('ends after the current chunk when the service stops', async () => {
    chunks = [() => Promise.resolve((stop.abort(), true)), () => Promise.resolve(false)];
    await worker.processNext(stop.signal);
    expect(chunks).toHaveLength(1);
    expect(calls.at(-1)).toBe('release []');
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
    await worker.processNext(stop.signal);
    expect(calls.slice(1)).toEqual(expected);
  });

  it('ends a run that has made no progress for ten minutes, without the text of the error', async () => {
    run = { ...(run as LeasedRun), updatedAt: new Date(Date.now() - 11 * 60_000) };
    chunks = [() => Promise.reject(new Error('password of the database'))];
    await worker.processNext(stop.signal);
    expect(calls[1]).toContain('import_failed');
    expect(calls[1]).not.toContain('password');
  });
});
