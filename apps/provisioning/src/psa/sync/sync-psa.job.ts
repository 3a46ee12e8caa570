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

  /** Looks with one statement while nothing is due. */
  @Job({ name: 'sync-psa', everyMs: 5_000 })
  async run(): Promise<void> {
    const first = await this.claim();
    if (first === null) return;
    const others = Array.from({ length: CONCURRENCY - 1 }, async () => this.runFrom(await this.claim()));
    await Promise.all([this.runFrom(first), ...others]);
  }

  /** Runs a claimed sync, and then those that are due one after the other. */
  private async runFrom(claimed: PsaSyncClaim | null): Promise<void> {
    for (let claim = claimed; claim !== null; claim = await this.claim()) await this.runClaimed(claim);
  }

  /** @returns null when nothing is due, or the service stops */
  private async claim(): Promise<PsaSyncClaim | null> {
    return this.stopping.signal.aborted ? null : this.syncs.claim();
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
