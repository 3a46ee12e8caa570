import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { ClaimsRepository, type LeasedRow } from './claims.repository.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';

/**
 * Releases orphaned leases: rows leased to this instance that it does not have in memory, after a claim or an insert
 * that committed although its connection was lost. This instance renews their lease, so no other would claim them.
 */
@Injectable()
export class OrphanedLeasesService {
  private suspects = new Set<string>();

  constructor(
    private readonly claims: ClaimsRepository,
    private readonly leased: LeasedDeliveriesService,
    private readonly metrics: DispatcherMetrics,
    private readonly logger: Logger,
  ) {}

  /**
   * Releases leases that were unknown in the previous run as well: in a single run a claim whose response is under way
   * looks like an orphan. Runs must be further apart than the time limit of a statement.
   */
  async reclaimOrphans(): Promise<void> {
    const unknown = (await this.claims.listLeased()).filter(({ id }) => !this.leased.has(id));
    const orphans = unknown.filter((row) => this.suspects.has(keyOf(row)));
    this.suspects = new Set(unknown.map(keyOf));
    if (orphans.length === 0) return;
    const freed = await this.claims.reclaimOrphans(orphans);
    this.metrics.countFreed(freed);
    this.logger.warn({ deliveries: freed }, 'orphaned leases released; any replica may claim the deliveries');
  }
}

/** Includes the attempt, since a delivery that was sent and claimed again between two runs is not an orphan. */
const keyOf = ({ id, attempt }: LeasedRow): string => `${id} ${attempt}`;
