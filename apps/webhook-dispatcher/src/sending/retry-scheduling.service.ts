import { Injectable } from '@nestjs/common';
import { FailDeadWebhooksJob } from '../auto-fail/fail-dead-webhooks.job.js';
import { DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { CHUNK_ROWS, RetryQueueService } from '../background-queues/retry-queue.service.js';
import { ClaimsRepository, type DeliveryKey } from './claims.repository.js';
import { OutcomeWriterService } from './outcome-writer.service.js';
import type { Outcome } from './outcome.js';
import { SenderService } from './sender.service.js';
import { ReplicaSignalsService } from './shards/replica-signals.service.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';
import { SweeperService } from './sweeper.service.js';
import { yieldAfter } from './yield-after.js';

/**
 * Schedules the next attempt of a stored outcome in Redis and claims it when it is due.
 * Nine dependencies: it connects the outcomes with the queues, the claims and the sender.
 */
@Injectable()
export class RetrySchedulingService {
  constructor(
    private readonly claims: ClaimsRepository,
    private readonly sender: SenderService,
    private readonly outcomes: OutcomeWriterService,
    private readonly retries: RetryQueueService,
    private readonly deadLetters: DeadLetterQueueService,
    private readonly sweeper: SweeperService,
    private readonly shards: ShardOwnershipService,
    private readonly replicas: ReplicaSignalsService,
    private readonly autoFail: FailDeadWebhooksJob,
  ) {}

  start(): void {
    this.deadLetters.start();
    this.retries.start((keys) => this.claimDue(keys));
    this.outcomes.subscribe({
      onWritten: (outcomes) => void this.schedule(outcomes),
      onDrained: () => this.sweeper.wake(),
    });
  }

  async stopProcessing(): Promise<void> {
    await this.retries.stopProcessing();
  }

  async close(): Promise<void> {
    await Promise.all([this.retries.close(), this.deadLetters.close()]);
  }

  private async claimDue(keys: DeliveryKey[]): Promise<void> {
    await this.sender.waitForRoomForRetries();
    const pause = yieldAfter();
    const deliveries = await this.claims.claim(keys);
    if (deliveries.length < keys.length && !this.shards.ownsAll) this.replicas.publishDeliveriesDue();
    await this.sender.sendClaimed(deliveries);
    if (keys.length >= CHUNK_ROWS) await pause();
  }

  private async schedule(written: readonly Outcome[]): Promise<void> {
    const retrying = written.flatMap((outcome) =>
      outcome.status === 'retrying' ? [{ ...keyOf(outcome), delayMs: outcome.delayMs }] : [],
    );
    const dead = written.flatMap((outcome) =>
      outcome.status === 'failed' && outcome.isDeadLetter ? [outcome.delivery] : [],
    );
    if (written.some(isGone)) this.autoFail.scheduleCheck();
    await Promise.all([this.retries.add(retrying), this.deadLetters.add(dead)]);
  }
}

/** Returns whether a delivery failed with a 410: the receiver no longer exists. @see docs/reference/webhooks.md */
const isGone = ({ status, responseStatus }: Outcome): boolean => status === 'failed' && responseStatus === 410;

const keyOf = ({ delivery }: Outcome): DeliveryKey => ({ id: delivery.id, createdAt: delivery.createdAt });
