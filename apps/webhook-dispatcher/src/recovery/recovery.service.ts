import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { Clock, ValidationError } from '@rmm/service-kit';
import { LIMITS } from '../limits.js';
import { RetrySchedulerService } from '../sending/retry-scheduler.service.js';
import type { Webhook, WebhookScope } from '../webhooks/webhook.entity.js';
import { WebhookNotActive, WebhookNotFound } from '../webhooks/webhook.errors.js';
import { webhookResource } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import type { RecoveredDto, RecoverWebhookDto } from './dto/recover-webhook.dto.js';
import { RecoverWebhooksJob } from './recover-webhooks.job.js';
import { cursorBefore, type HistoryCursor, RecoveryRepository } from './recovery.repository.js';

/** Deliveries per request. @see docs/reference/webhooks.md */
const MAX_ACCEPTED = 10_000;
/** Deliveries that one statement counts, or brings forward in a transaction. */
const CHUNK = 1_000;
/** Ends a request that finds little to recover; repeating it loses nothing. */
const MAX_MS = 4_000;
/** Deliveries have the times of their events, whose clocks may be ahead. */
const AHEAD_MS = 600_000;

interface Period {
  since: Date;
  until: Date;
}

interface RecoveryDetails extends Record<string, unknown> {
  since: string;
  until: string | null;
  status: string;
}

/**
 * Recovers what a receiver missed. Failed deliveries are counted by the request and sent again by a job; retries are
 * brought forward by the request. A request may be repeated after an error and may run concurrently with another.
 */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly webhooks: WebhooksRepository,
    private readonly repository: RecoveryRepository,
    private readonly job: RecoverWebhooksJob,
    private readonly scheduler: RetrySchedulerService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /** @throws ValidationError, WebhookNotFound, WebhookNotActive, RateLimitedError */
  async recover(
    caller: UserCaller,
    webhookId: string,
    dto: RecoverWebhookDto,
    scope: WebhookScope = 'organization',
  ): Promise<RecoveredDto> {
    const period = { since: dto.since, until: dto.until ?? new Date(this.clock.nowMs() + AHEAD_MS) };
    if (dto.until !== undefined && dto.until <= dto.since)
      throw ValidationError.forField('until', 'must be after since');
    const webhook = await this.webhooks.get(caller, webhookId, scope);
    if (webhook.status !== 'active') throw new WebhookNotActive();
    await this.limits.hit(LIMITS.recoverWebhook, webhookId);
    const wanted = dto.status ?? 'failed';
    const details = { since: dto.since.toISOString(), until: dto.until?.toISOString() ?? null, status: wanted };
    const accepted =
      wanted === 'failed'
        ? await this.repeatFailed(caller, webhook, period, details)
        : await this.bringForward(caller, webhook, period, details);
    return { accepted };
  }

  /** Counts what will be sent and leaves it to a job. */
  private repeatFailed(
    caller: UserCaller,
    webhook: Webhook,
    period: Period,
    details: RecoveryDetails,
  ): Promise<number> {
    return this.tenants.transaction(caller, async (tx) => {
      const { id: webhookId } = webhook;
      await this.repository.lockRequests(tx, webhookId);
      const { accepted, until } = await this.countFailed(tx, webhookId, period);
      await this.audit.record(tx, caller, 'webhook.recover', webhookResource(webhook), details);
      if (!until) return 0;
      const id = randomUUID();
      const after = cursorBefore(period.since);
      if (!(await this.repository.insert(tx, { id, webhookId, after, until }))) throw new WebhookNotActive();
      tx.afterCommit(() => void this.job.start(id));
      return accepted;
    });
  }

  /** @returns the number of events and the position of the last one; without a position there are none */
  private async countFailed(
    tx: TenantTransaction,
    webhookId: string,
    { since, until }: Period,
  ): Promise<{ accepted: number; until: HistoryCursor | null }> {
    const endMs = this.clock.nowMs() + MAX_MS;
    let accepted = 0;
    let last: HistoryCursor | null = null;
    let after: HistoryCursor | null = cursorBefore(since);
    while (after && accepted < MAX_ACCEPTED && this.clock.nowMs() < endMs) {
      const counted = await this.repository.countFailed(tx, {
        webhookId,
        until,
        after,
        readLimit: CHUNK,
        countLimit: MAX_ACCEPTED - accepted,
      });
      accepted += counted.accepted;
      last = counted.last ?? last;
      after = counted.next;
    }
    return { accepted, until: last };
  }

  /** Starts each chunk where the first one started, since deliveries that are due are not found again. */
  private async bringForward(
    caller: UserCaller,
    { id: webhookId, orgId }: Webhook,
    { since, until }: Period,
    details: RecoveryDetails,
  ): Promise<number> {
    const scope = orgId === null ? 'partner' : 'organization';
    const endMs = this.clock.nowMs() + MAX_MS;
    let accepted = 0;
    for (let isFirst = true, isLeft = true; isLeft && this.clock.nowMs() < endMs; isFirst = false) {
      const limit = Math.min(CHUNK, MAX_ACCEPTED - accepted);
      const brought = await this.tenants.transaction(caller, async (tx) => {
        const webhook = await this.lockActive(tx, webhookId, scope, isFirst);
        if (!webhook) return 0;
        tx.afterCommit(() => this.scheduler.notifyDue(webhook));
        // With the first chunk, so that a recovery that fails later has an entry too.
        if (isFirst) await this.audit.record(tx, caller, 'webhook.recover', webhookResource(webhook), details);
        return this.repository.bringForward(tx, { webhookId, since, until, limit });
      });
      accepted += brought;
      isLeft = brought === limit && accepted < MAX_ACCEPTED;
    }
    return accepted;
  }

  /** Returns null when the webhook was paused or deleted after the first chunk, whose deliveries remain. */
  private async lockActive(
    tx: TenantTransaction,
    webhookId: string,
    scope: WebhookScope,
    isFirst: boolean,
  ): Promise<Webhook | null> {
    try {
      const webhook = await this.webhooks.lock(tx, webhookId, scope);
      if (webhook.status !== 'active') throw new WebhookNotActive();
      return webhook;
    } catch (error) {
      if (!isFirst && (error instanceof WebhookNotActive || error instanceof WebhookNotFound)) return null;
      throw error;
    }
  }
}
