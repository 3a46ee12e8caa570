import { Inject, Injectable } from '@nestjs/common';
import { Job, Logger } from '@rmm/service-kit';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import {
  ExpiredDeliveriesRepository,
  type ExpiredDelivery,
  type OpenRowPosition,
} from './expired-deliveries.repository.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import { SenderService } from './sender.service.js';

const SET_ROWS = 500;
/** The time in which a replica gets its partitions; a deployment may end it before an hour has passed. */
const FIRST_AFTER_MS = 60_000;
const DAY_SECONDS = 86_400;
/** Webhooks that a log line names. */
const LOGGED_WEBHOOKS = 10;

/**
 * Fails deliveries that are still open a day before the end of their retention, whatever they wait for, so that none is
 * dropped unseen with its partition: it is shown, counted and can be recovered until then. Each replica ends those of its
 * own partitions; a partition with open rows is not dropped.
 * @see docs/reference/webhooks.md
 */
@Injectable()
export class ExpireDeliveriesJob {
  private oldestSeconds = 0;
  private readonly days: number;

  constructor(
    private readonly repository: ExpiredDeliveriesRepository,
    private readonly sender: SenderService,
    private readonly outcomes: OutcomeBatcherService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly logger: Logger,
    @Inject(DISPATCHER_CONFIG) config: DispatcherConfig,
    metrics: DispatcherMetrics,
  ) {
    this.days = config.deliveryRetentionDays - 1;
    metrics.observeOldestOpen(() => this.oldestSeconds, this.days * DAY_SECONDS);
  }

  @Job({ name: 'expire-deliveries', everyMs: 3_600_000, firstAfterMs: FIRST_AFTER_MS })
  async run(): Promise<void> {
    const webhookIds = new Set<string>();
    let deliveries = 0;
    for await (const set of this.listSets()) {
      const expired = set.filter(({ delivery }) => this.sender.expire(delivery));
      deliveries += expired.length;
      for (const { delivery } of expired) if (webhookIds.size < LOGGED_WEBHOOKS) webhookIds.add(delivery.webhookId);
      await this.outcomes.flush();
    }
    if (deliveries === 0) return;
    this.logger.warn(
      { deliveries, webhookIds: [...webhookIds] },
      'Deliveries were open until a day before the end of their retention; they have failed and are not sent',
    );
  }

  @Job({ name: 'measure-open-deliveries', everyMs: 300_000, firstAfterMs: FIRST_AFTER_MS })
  async measure(): Promise<void> {
    this.oldestSeconds = await this.repository.findOldestAge(this.days + 1);
  }

  /** Lists the rows of this replica in sets, and deletes those whose webhook does not exist. */
  private async *listSets(): AsyncGenerator<ExpiredDelivery[]> {
    let after: OpenRowPosition | null = null;
    for (let isLast = false; !isLast;) {
      const rows: ExpiredDelivery[] = await this.repository.list(this.days, SET_ROWS, after);
      isLast = rows.length < SET_ROWS;
      after = rows.at(-1)?.position ?? null;
      const own = rows.filter(({ delivery }) => this.leases.owns(delivery.partition));
      const withoutWebhook = own.filter(({ hasWebhook }) => !hasWebhook).map(({ delivery }) => delivery);
      if (withoutWebhook.length > 0) await this.repository.deleteWithoutWebhook(withoutWebhook);
      yield own.filter(({ hasWebhook }) => hasWebhook);
    }
  }
}
