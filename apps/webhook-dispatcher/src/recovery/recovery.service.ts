import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { Clock, ValidationError } from '@rmm/service-kit';
import { LIMITS } from '../limits.js';
import { maxAttemptsOf } from '../sending/retry-delay.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { Webhook } from '../webhooks/webhook.entity.js';
import { WebhookNotActive, WebhookNotFound } from '../webhooks/webhook.errors.js';
import { webhookResource } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import type { RecoveredDto, RecoverWebhookDto } from './dto/recover-webhook.dto.js';
import { cursorBefore, type HistoryCursor, RecoveryRepository } from './recovery.repository.js';

/** Deliveries per request. @see docs/reference/webhooks.md */
const MAX_ACCEPTED = 10_000;
/** Deliveries per transaction, which locks the webhook for some tens of milliseconds. */
const CHUNK = 1_000;
/** Ends a request that finds little to recover; repeating it loses nothing. */
const MAX_MS = 8_000;
/** Deliveries have the times of their events, whose clocks may be ahead. */
const AHEAD_MS = 600_000;

interface Period {
  since: Date;
  until: Date;
  startedAt: Date;
}

interface Chunk {
  accepted: number;
  next: HistoryCursor | null;
}

type RecoverChunk = (
  tx: TenantTransaction,
  webhook: Webhook,
  period: Period,
  after: HistoryCursor,
  limit: number,
) => Promise<Chunk>;

/**
 * Recovers what a receiver missed, in short transactions of up to a thousand deliveries. What a transaction created is
 * skipped by later requests, so a request may be repeated after an error and may run concurrently with another.
 */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly webhooks: WebhooksRepository,
    private readonly repository: RecoveryRepository,
    private readonly scheduler: RetrySchedulerService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /** @throws ValidationError, WebhookNotFound, WebhookNotActive, RateLimitedError */
  async recover(caller: UserCaller, webhookId: string, dto: RecoverWebhookDto): Promise<RecoveredDto> {
    const startedAt = this.clock.now();
    const period = { since: dto.since, until: dto.until ?? new Date(startedAt.getTime() + AHEAD_MS), startedAt };
    if (dto.until !== undefined && dto.until <= dto.since)
      throw ValidationError.forField('until', 'must be after since');
    const { status } = await this.webhooks.get(caller, webhookId);
    if (status !== 'active') throw new WebhookNotActive();
    await this.limits.hit(LIMITS.recoverWebhook, webhookId);
    const wanted = dto.status ?? 'failed';
    const details = { since: dto.since.toISOString(), until: dto.until?.toISOString() ?? null, status: wanted };
    const recoverChunk: RecoverChunk =
      wanted === 'failed' ? (...chunk) => this.repeatFailed(...chunk) : (...chunk) => this.bringForward(...chunk);
    return { accepted: await this.recoverInChunks(caller, webhookId, period, details, recoverChunk) };
  }

  /** Records the audit entry with the first chunk, so that a recovery that fails later has one too. */
  private async recoverInChunks(
    caller: UserCaller,
    webhookId: string,
    period: Period,
    details: Record<string, string | null>,
    recoverChunk: RecoverChunk,
  ): Promise<number> {
    let accepted = 0;
    let next: HistoryCursor | null = cursorBefore(period.since);
    for (let isFirst = true; next && accepted < MAX_ACCEPTED && this.hasTime(period); isFirst = false) {
      const after: HistoryCursor = next;
      const chunk: Chunk | null = await this.tenants.transaction(caller, async (tx) => {
        const webhook = await this.lockActive(tx, webhookId, isFirst);
        if (!webhook) return null;
        tx.afterCommit(() => this.scheduler.notifyDue(webhook));
        if (isFirst) await this.audit.record(tx, caller, 'webhook.recover', webhookResource(webhook), details);
        return recoverChunk(tx, webhook, period, after, Math.min(CHUNK, MAX_ACCEPTED - accepted));
      });
      if (!chunk) break;
      accepted += chunk.accepted;
      next = chunk.next;
    }
    return accepted;
  }

  private repeatFailed(
    tx: TenantTransaction,
    webhook: Webhook,
    { until, startedAt }: Period,
    after: HistoryCursor,
    limit: number,
  ): Promise<Chunk> {
    return this.repository.repeatFailed(tx, {
      webhookId: webhook.id,
      maxAttempts: maxAttemptsOf(webhook),
      until,
      startedAt,
      after,
      readLimit: CHUNK,
      insertLimit: limit,
    });
  }

  /** Starts each chunk where the first one started, since deliveries that are due are not found again. */
  private async bringForward(
    tx: TenantTransaction,
    { id: webhookId }: Webhook,
    { since, until }: Period,
    after: HistoryCursor,
    limit: number,
  ): Promise<Chunk> {
    const accepted = await this.repository.bringForward(tx, { webhookId, since, until, limit });
    return { accepted, next: accepted === limit ? after : null };
  }

  /** Returns null when the webhook was paused or deleted after the first chunk, whose deliveries remain. */
  private async lockActive(tx: TenantTransaction, webhookId: string, isFirst: boolean): Promise<Webhook | null> {
    try {
      const webhook = await this.webhooks.lock(tx, webhookId);
      if (webhook.status !== 'active') throw new WebhookNotActive();
      return webhook;
    } catch (error) {
      if (!isFirst && (error instanceof WebhookNotActive || error instanceof WebhookNotFound)) return null;
      throw error;
    }
  }

  private hasTime({ startedAt }: Period): boolean {
    return this.clock.nowMs() - startedAt.getTime() < MAX_MS;
  }
}
