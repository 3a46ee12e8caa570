import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';

export type DirectoryName = 'organization' | 'partner';

/** The metrics of the tenant directories. */
@Injectable()
export class DirectoryMetrics {
  private readonly unreadable;
  private readonly malformed;
  private readonly healed;
  private readonly ages = new Map<DirectoryName, () => number>();

  constructor(metrics: MetricsRegistry) {
    this.unreadable = metrics.counter({
      name: 'rmm_directory_unreadable_total',
      help: 'Changes of tenants that could not be applied; the tenant is refused until it is read from its owner',
      labelNames: ['directory'],
    });
    this.malformed = metrics.counter({
      name: 'rmm_directory_malformed_fields_total',
      help: 'Fields of tenants that could not be read and have the strictest value instead',
      labelNames: ['directory'],
    });
    this.healed = metrics.counter({
      name: 'rmm_directory_healed_total',
      help: 'Rows that differed from their owner and were corrected by a reconciliation',
      labelNames: ['directory'],
    });
    const ages = this.ages;
    metrics.gauge({
      name: 'rmm_directory_reconciled_age_seconds',
      help: 'Time since the directory was compared with its owner',
      labelNames: ['directory'],
      collect() {
        for (const [directory, age] of ages) this.set({ directory }, age());
      },
    });
  }

  countUnreadable(directory: DirectoryName): void {
    this.unreadable.inc({ directory });
  }

  countMalformed(directory: DirectoryName, fields: number): void {
    this.malformed.inc({ directory }, fields);
  }

  countHealed(directory: DirectoryName, rows: number): void {
    this.healed.inc({ directory }, rows);
  }

  /** @param seconds  called at every scrape */
  observeAge(directory: DirectoryName, seconds: () => number): void {
    this.ages.set(directory, seconds);
  }
}
