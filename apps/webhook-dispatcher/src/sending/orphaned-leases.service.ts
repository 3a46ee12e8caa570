import { Injectable } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { ClaimsRepository, type LeasedRow } from './claims.repository.js';
import { LeasedDeliveriesService } from './leased-deliveries.service.js';

/**
 * Finds deliveries that are leased to this process though it does not know of them, and frees them. A claim or an
 * intake leaves such behind when it commits and its answer is lost with the connection: the lease is renewed as long as
 * we live, so that nobody else would ever take them.
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
   * Frees those that were met by the look before as well. One look alone would take a claim whose answer is on its way
   * for a stray: looks lie further apart than a statement may take.
   */
  async look(): Promise<void> {
    const unknown = (await this.claims.leased()).filter(({ id }) => !this.leased.has(id));
    const strays = unknown.filter((row) => this.suspects.has(keyOf(row)));
    this.suspects = new Set(unknown.map(keyOf));
    if (strays.length === 0) return;
    const freed = await this.claims.free(strays);
    this.metrics.countFreed(freed);
    this.logger.warn({ deliveries: freed }, 'Deliveries leased to this process without its knowledge are free again');
  }
}

/** A delivery that was sent and claimed anew between two looks is another one. */
const keyOf = ({ id, attempt }: LeasedRow): string => `${id} ${attempt}`;
