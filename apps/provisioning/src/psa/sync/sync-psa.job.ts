import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Job, Logger } from '@rmm/service-kit';
import { ListingInterrupted } from '../psa-http.js';
import { PsaSyncFailuresService } from './psa-sync-failures.service.js';
import { PsaSyncLeaseLost } from './psa-sync.errors.js';
import { PsaSyncService } from './psa-sync.service.js';
import { PsaSyncsRepository, type PsaSyncClaim } from './psa-syncs.repository.js';

/** Runs at a time in one process; they wait for PSAs most of their time. */
const CONCURRENCY = 4;

/**
 * Runs the syncs that are due. Replicas lease one at a time; the lease of a process that was killed ends by itself, and a
 * process that stops hands its runs back.
 */
@Injectable()
export class SyncPsaJob implements OnModuleDestroy {
  private readonly stopping = new AbortController();

  constructor(
    private readonly syncs: PsaSyncsRepository,
    private readonly sync: PsaSyncService,
    private readonly failures: PsaSyncFailuresService,
    private readonly logger: Logger,
  ) {}

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  @Job({ name: 'sync-psa', everyMs: 5_000 })
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.runDue()));
  }

  private async runDue(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const claim = await this.syncs.claim();
      if (claim === null) return;
      await this.runClaimed(claim);
    }
  }

  private async runClaimed(claim: PsaSyncClaim): Promise<void> {
    try {
      await this.sync.run(claim, this.stopping.signal);
    } catch (error) {
      if (error instanceof ListingInterrupted) return this.syncs.release(claim);
      if (!(error instanceof PsaSyncLeaseLost)) return this.failures.record(claim, error);
      const { connectionId } = claim;
      this.logger.warn({ connectionId }, 'the run of a PSA sync lost its lease; another one repeats it');
      await this.syncs.release(claim);
    }
  }
}
