import { Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { type ListPage, toPage } from '@rmm/validation';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { AcceptedDeliveryDto } from '../deliveries/dto/delivery.dto.js';
import type { Webhook, WebhookScope } from '../webhooks/webhook.entity.js';
import { WebhookNotFound } from '../webhooks/webhook.errors.js';
import { webhookResource } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import type { DeadLetter } from './dead-letter.entity.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';
import { toDeadLetterDto } from './dead-letter.mapper.js';
import { DeadLettersRepository } from './dead-letters.repository.js';
import type { DeadLetterDto } from './dto/dead-letter.dto.js';
import type { ListDeadLettersDto } from './dto/list-dead-letters.dto.js';

/** Lists, retries and deletes dead letters. The job id of a dead letter is the id of its delivery. */
@Injectable()
export class DeadLettersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly organizations: OrganizationDirectory,
    private readonly webhooks: WebhooksRepository,
    private readonly deliveries: DeliveriesService,
    private readonly repository: DeadLettersRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** Lists a page of all organizations the caller has access to, newest first. @throws OrganizationAccessDenied, InvalidCursor */
  async list(
    caller: UserCaller,
    query: ListDeadLettersDto,
    scope: WebhookScope = 'organization',
  ): Promise<ListPage<DeadLetterDto>> {
    if (query.orgId !== undefined) await this.organizations.assertOrganizationAccess(caller, query.orgId);
    const { orgId, webhookId, cursor, limit } = query;
    const filter = { orgId, webhookId, scope };
    if (cursor !== undefined) {
      const { rows, nextCursor } = await this.repository.listAfter(caller, filter, { cursor, limit });
      return { data: rows.map(toDeadLetterDto), pagination: { nextCursor, limit } };
    }
    const { rows, ...counted } = await this.repository.list(caller, filter, query);
    return toPage(query, counted, rows.map(toDeadLetterDto));
  }

  /** Retries the delivery; of two concurrent calls one is refused. @throws DeadLetterNotFound, WebhookNotActive */
  retry(caller: UserCaller, jobId: string, scope: WebhookScope = 'organization'): Promise<AcceptedDeliveryDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const { webhook } = await this.remove(tx, jobId, scope);
      return this.deliveries.repeat(tx, caller, webhook, jobId, 'webhook.dead_letter.retry');
    });
  }

  /** Deletes the dead letter; the delivery stays failed. @throws DeadLetterNotFound */
  async delete(caller: UserCaller, jobId: string, scope: WebhookScope = 'organization'): Promise<{ success: true }> {
    await this.tenants.transaction(caller, async (tx) => {
      const { webhook, deadLetter } = await this.remove(tx, jobId, scope);
      const { deliveryId, eventType, eventId } = deadLetter;
      const details = { deliveryId, event: eventType, eventId };
      await this.audit.record(tx, caller, 'webhook.dead_letter.delete', webhookResource(webhook), details);
    });
    return { success: true };
  }

  /** Locks the webhook before it deletes, as every writer does, so that no two wait for each other. */
  private async remove(
    tx: TenantTransaction,
    jobId: string,
    scope: WebhookScope,
  ): Promise<{ webhook: Webhook; deadLetter: DeadLetter }> {
    const deadLetter = await this.repository.get(tx, jobId);
    const webhook = await this.webhooks.lock(tx, deadLetter.webhookId, scope).catch((error: unknown) => {
      // The webhook was deleted since, and its dead letters with it; or it is one of the other scope.
      throw error instanceof WebhookNotFound ? new DeadLetterNotFound() : error;
    });
    if (!(await this.repository.remove(tx, jobId))) throw new DeadLetterNotFound();
    return { webhook, deadLetter };
  }
}
