import type { Logger } from '@rmm/service-kit';
import { ListingInterrupted } from '../psa-http.js';
import { PsaFailed } from '../psa.errors.js';
import type { PsaSyncFailuresService } from './psa-sync-failures.service.js';
import { PsaSyncLeaseLost } from './psa-sync.errors.js';
import type { PsaSyncService } from './psa-sync.service.js';
import type { PsaSyncClaim, PsaSyncsRepository } from './psa-syncs.repository.js';
import { SyncPsaJob } from './sync-psa.job.js';

describe('SyncPsaJob', () => {
  const release = jest.fn();
  const record = jest.fn();
  const warn = jest.fn();
  let due: PsaSyncClaim[];
  let sync: (claim: PsaSyncClaim, signal: AbortSignal) => Promise<void>;
  let job: SyncPsaJob;

  beforeEach(() => {
    jest.resetAllMocks();
    due = Array.from({ length: 10 }, (_, n) => ({ connectionId: `c-${n}` }) as PsaSyncClaim);
    job = new SyncPsaJob(
      { claim: () => Promise.resolve(due.shift() ?? null), release } as unknown as PsaSyncsRepository,
      { run: (...run: Parameters<typeof sync>) => sync(...run) } as unknown as PsaSyncService,
      { record } as unknown as PsaSyncFailuresService,
      { warn } as unknown as Logger,
    );
  });

  it('runs everything that is due, at most four at a time', async () => {
    let running = 0;
    let most = 0;
    const done: string[] = [];
    sync = async ({ connectionId }) => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      done.push(connectionId);
    };
    await job.run();
    expect([done.length, most]).toEqual([10, 4]);
    expect(record).not.toHaveBeenCalled();
  });

  it('looks once when nothing is due', async () => {
    due = [];
    const shift = jest.spyOn(due, 'shift');
    await job.run();
    expect(shift).toHaveBeenCalledTimes(1);
  });

  it('records a failure and goes on with the others', async () => {
    const error = new PsaFailed('down');
    sync = ({ connectionId }) => (connectionId === 'c-3' ? Promise.reject(error) : Promise.resolve());
    await job.run();
    expect(record.mock.calls).toEqual([[{ connectionId: 'c-3' }, error]]);
    expect(due).toEqual([]);
  });

  it('leaves a run whose lease is lost to the replica that has it', async () => {
    due.splice(1);
    sync = () => Promise.reject(new PsaSyncLeaseLost());
    await job.run();
    expect(record).not.toHaveBeenCalled();
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('interrupts its runs when the service stops, hands them back and starts no other', async () => {
    sync = (_claim, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new ListingInterrupted())));
    const run = job.run();
    await new Promise((resolve) => setImmediate(resolve));
    job.onModuleDestroy();
    await run;
    expect(release).toHaveBeenCalledTimes(4);
    expect(record).not.toHaveBeenCalled();
    expect(due).toHaveLength(6);
    await job.run();
    expect(due).toHaveLength(6);
  });
});
