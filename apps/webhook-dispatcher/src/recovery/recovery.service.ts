import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { Clock, RateLimits, ValidationError } from '@rmm/service-kit';
import type { DeliveryKey } from '../sending/claims.repository.js';
import { DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { RetryQueueService } from '../background-queues/retry-queue.service.js';
import { SweeperService } from '../sending/sweeper.service.js';
import { WebhookNotActive, WebhookNotFound } from '../webhooks/webhook.errors.js';
import type { WebhookRow } from '../webhooks/webhook-row.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { resourceOf } from '../webhooks/webhooks.service.js';
import type { RecoveredDto, RecoverWebhookDto } from './dto/recover-webhook.dto.js';
import { type HistoryPlace, RecoveryRepository, startOf } from './recovery.repository.js';

/** CONTRACT.md 3. */
const RECOVER_LIMIT = { name: 'webhook-recover', limit: 6, windowSeconds: 3_600, onRedisDown: 'allow' } as const;

/** Deliveries per call. @see CONTRACT.md 4.9 */
const MAX_ACCEPTED = 10_000;
/** Deliveries per transaction: the webhook is locked that long, some tens of milliseconds. */
const CHUNK = 1_000;
/** A call that only finds what is under way ends after this; milliseconds. Whoever repeats it loses nothing. */
const MAX_MS = 8_000;
/** Deliveries bear the times of their events, and clocks differ; milliseconds. */
const AHEAD_MS = 600_000;

interface Span {
  since: Date;
  until: Date;
  startedAt: Date;
}

/** A chunk in its transaction. */
interface Chunk {
  keys: DeliveryKey[];
  deadLetters: string[];
  next: HistoryPlace | null;
}

/**
 * Brings back what a receiver missed, in short transactions of a thousand deliveries each. Every one of them is whole:
 * what it made is under way from then on, so that a call which repeats one that broke off, or that runs beside another,
 * skips it.
 */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly webhooks: WebhooksRepository,
    private readonly repository: RecoveryRepository,
    private readonly retries: RetryQueueService,
    private readonly deadLetters: DeadLetterQueueService,
    private readonly sweeper: SweeperService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /** @throws ValidationError, WebhookNotFound, WebhookNotActive, RateLimitedError */
  async recover(caller: UserCaller, webhookId: string, dto: RecoverWebhookDto): Promise<RecoveredDto> {
    const startedAt = this.clock.now();
    const span = { since: dto.since, until: dto.until ?? new Date(startedAt.getTime() + AHEAD_MS), startedAt };
    if (dto.until !== undefined && dto.until <= dto.since) throw ValidationError.of('until', 'must be after since');
    const { status } = await this.webhooks.get(caller, webhookId);
    if (status !== 'active') throw new WebhookNotActive();
    await this.limits.hit(RECOVER_LIMIT, webhookId);
    const kind = dto.status ?? 'failed';
    const details = { since: dto.since.toISOString(), until: dto.until?.toISOString() ?? null, status: kind };
    const recover = kind === 'failed' ? this.repeat : this.hasten;
    return { accepted: await this.inChunks(caller, webhookId, span, details, recover) };
  }

  /** The audit row goes with the first chunk: a recovery that breaks off later has one too. */
  private async inChunks(
    caller: UserCaller,
    webhookId: string,
    span: Span,
    details: Record<string, string | null>,
    recover: (tx: TenantTransaction, webhookId: string, span: Span, at: HistoryPlace, room: number) => Promise<Chunk>,
  ): Promise<number> {
    let accepted = 0;
    let at: HistoryPlace | null = startOf(span.since);
    for (let isFirst = true; at && accepted < MAX_ACCEPTED && this.hasTime(span); isFirst = false) {
      const place: HistoryPlace = at;
      const chunk: Chunk | null = await this.tenants.transaction(caller, async (tx) => {
        const webhook = await this.lockActive(tx, webhookId, isFirst);
        if (!webhook) return null;
        if (isFirst) await this.audit.record(tx, caller, 'webhook.recover', resourceOf(webhook), details);
        return recover.call(this, tx, webhookId, span, place, Math.min(CHUNK, MAX_ACCEPTED - accepted));
      });
      if (!chunk) break;
      accepted += chunk.keys.length;
      at = chunk.next;
      await this.handOver(chunk);
    }
    return accepted;
  }

  private async repeat(
    tx: TenantTransaction,
    webhookId: string,
    span: Span,
    at: HistoryPlace,
    room: number,
  ): Promise<Chunk> {
    const maxAttempts = await this.webhooks.maxAttempts(tx, webhookId);
    return this.repository.repeatFailed(tx, { ...span, webhookId, maxAttempts }, at, { room, width: CHUNK });
  }

  /** What was made due is no longer found, so the next chunk begins where this one began. */
  private async hasten(
    tx: TenantTransaction,
    webhookId: string,
    span: Span,
    at: HistoryPlace,
    room: number,
  ): Promise<Chunk> {
    const keys = await this.repository.hasten(tx, { ...span, webhookId, limit: room });
    return { keys, deadLetters: [], next: keys.length === room ? at : null };
  }

  /** Null when it was paused or deleted after the call had begun: what is done stays done. */
  private async lockActive(tx: TenantTransaction, webhookId: string, isFirst: boolean): Promise<WebhookRow | null> {
    try {
      const webhook = await this.webhooks.lock(tx, webhookId);
      if (webhook.status !== 'active') throw new WebhookNotActive();
      return webhook;
    } catch (error) {
      if (!isFirst && (error instanceof WebhookNotActive || error instanceof WebhookNotFound)) return null;
      throw error;
    }
  }

  /** To all replicas by the queue; without it the sweepers find what is due. */
  private async handOver({ keys, deadLetters }: Chunk): Promise<void> {
    if (deadLetters.length > 0) void this.deadLetters.remove(deadLetters);
    if (keys.length === 0) return;
    const isQueued = await this.retries.add(keys.map((key) => ({ ...key, delayMs: 0 })));
    if (!isQueued) this.sweeper.wake();
  }

  private hasTime({ startedAt }: Span): boolean {
    return this.clock.nowMs() - startedAt.getTime() < MAX_MS;
  }
}
