import { Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { type Paged, toPage } from '@rmm/service-kit';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { AcceptedDelivery } from '../deliveries/dto/delivery.dto.js';
import { DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { WebhookNotFound } from '../webhooks/webhook.errors.js';
import type { WebhookRow } from '../webhooks/webhook-row.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { resourceOf } from '../webhooks/webhooks.service.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';
import { DeadLettersRepository } from './dead-letters.repository.js';
import { type DeadLetterDto, type DeadLetterRow, toDeadLetterDto } from './dto/dead-letter.dto.js';
import type { ListDeadLettersDto } from './dto/list-dead-letters.dto.js';

/** What an operator does about deliveries that used up their retries. Their job ids are the ids of the deliveries. */
@Injectable()
export class DeadLettersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly webhooks: WebhooksRepository,
    private readonly deliveries: DeliveriesService,
    private readonly repository: DeadLettersRepository,
    private readonly queue: DeadLetterQueueService,
    private readonly audit: AuditTrail,
  ) {}

  /** Newest first, of all organizations the caller reaches. @throws OrganizationAccessDenied */
  async list(caller: UserCaller, query: ListDeadLettersDto): Promise<Paged<DeadLetterDto>> {
    if (query.orgId !== undefined) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, {
      orgId: query.orgId ?? null,
      webhookId: query.webhookId ?? null,
      limit: query.limit,
      offset: (query.page - 1) * query.limit,
    });
    return toPage(query, total, rows.map(toDeadLetterDto));
  }

  /** As a manual retry of its delivery. Of two at once one is 404. @throws DeadLetterNotFound, WebhookNotActive */
  retry(caller: UserCaller, jobId: string): Promise<AcceptedDelivery> {
    return this.tenants.transaction(caller, async (tx) => {
      const { webhook } = await this.take(tx, jobId);
      return this.deliveries.repeat(tx, caller, webhook, jobId, 'webhook.dead_letter.retry');
    });
  }

  /** The delivery stays failed. @throws DeadLetterNotFound */
  async delete(caller: UserCaller, jobId: string): Promise<{ success: true }> {
    await this.tenants.transaction(caller, async (tx) => {
      const { webhook, letter } = await this.take(tx, jobId);
      const { deliveryId, event, eventId } = letter;
      await this.audit.record(tx, caller, 'webhook.dead_letter.delete', resourceOf(webhook), {
        deliveryId,
        event,
        eventId,
      });
      tx.afterCommit(() => void this.queue.remove([jobId]));
    });
    return { success: true };
  }

  /** The webhook is locked first, as in everything else that writes for it, so that nobody waits in a circle. */
  private async take(tx: TenantTransaction, jobId: string): Promise<{ webhook: WebhookRow; letter: DeadLetterRow }> {
    const letter = await this.repository.find(tx, jobId);
    if (!letter) throw new DeadLetterNotFound();
    const webhook = await this.webhooks.lock(tx, letter.webhookId).catch((error: unknown) => {
      // Deleted in this moment, and its dead letters with it.
      throw error instanceof WebhookNotFound ? new DeadLetterNotFound() : error;
    });
    if (!(await this.repository.take(tx, jobId))) throw new DeadLetterNotFound();
    return { webhook, letter };
  }
}
