import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { Clock, type Paged, toPage } from '@rmm/service-kit';
import { DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import type { CreateWebhookDto } from './dto/create-webhook.dto.js';
import type { ListWebhooksDto } from './dto/list-webhooks.dto.js';
import type { UpdateWebhookDto } from './dto/update-webhook.dto.js';
import { toWebhookDto, toWebhookWithStatsDto, type WebhookDto, type WebhookWithStatsDto } from './dto/webhook.dto.js';
import { NamedOrganization } from './named-organization.js';
import { webhookChanged } from './webhook-changed.js';
import { WebhookSettingsService } from './webhook-settings.service.js';
import type { WebhookRow } from './webhook-row.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { toStoredStatus } from './webhook-status.js';
import { WebhooksRepository } from './webhooks.repository.js';

@Injectable()
export class WebhooksService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: WebhooksRepository,
    private readonly organizations: NamedOrganization,
    private readonly input: WebhookSettingsService,
    private readonly sealing: WebhookSealingService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly deadLetters: DeadLetterQueueService,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListWebhooksDto): Promise<Paged<WebhookDto>> {
    const { orgId } = await this.organizations.resolve(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, {
      orgId,
      status: query.status === undefined ? null : toStoredStatus(query.status),
      limit: query.limit,
      offset: (query.page - 1) * query.limit,
    });
    return toPage(
      query,
      total,
      rows.map((row) => this.shown(row)),
    );
  }

  async get(caller: UserCaller, id: string): Promise<WebhookWithStatsDto> {
    return toWebhookWithStatsDto(await this.repository.get(caller, id), this.sealing, this.clock.now());
  }

  async create(caller: UserCaller, dto: CreateWebhookDto): Promise<WebhookDto> {
    const { orgId, partnerId } = await this.organizations.resolve(caller, dto.orgId);
    const id = randomUUID();
    const settings = await this.input.forCreate(id, dto);
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.insert(tx, { ...settings, id, orgId, partnerId, createdBy: caller.userId });
      await this.audit.record(tx, caller, 'webhook.create', resourceOf(row), { events: row.events });
      await this.outbox.publish(tx, webhookChanged(row));
      return this.shown(row);
    });
  }

  async update(caller: UserCaller, id: string, dto: UpdateWebhookDto): Promise<WebhookDto> {
    // The network is asked before the transaction; the row is read again, locked, inside.
    const patch = await this.input.checkForUpdate(await this.repository.get(caller, id), dto);
    return this.tenants.transaction(caller, async (tx) => {
      const stored = await this.repository.lock(tx, id);
      if (dto.status === 'active') await this.repository.restartClock(tx, id);
      const row = await this.repository.update(tx, id, this.input.forUpdate(stored, patch));
      await this.audit.record(tx, caller, 'webhook.update', resourceOf(row), { changed: changedFields(patch) });
      await this.outbox.publish(tx, webhookChanged(row));
      return this.shown(row);
    });
  }

  /** The webhook and all its deliveries, in one transaction. */
  async delete(caller: UserCaller, id: string): Promise<{ success: true }> {
    await this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      const deadLetters = await this.repository.delete(tx, id);
      tx.afterCommit(() => void this.deadLetters.remove(deadLetters));
      await this.audit.record(tx, caller, 'webhook.delete', resourceOf(row));
      await this.outbox.publish(tx, webhookChanged(row, true));
    });
    return { success: true };
  }

  private shown(row: WebhookRow): WebhookDto {
    return toWebhookDto(row, this.sealing, this.clock.now());
  }
}

export const resourceOf = ({ id, name, orgId, partnerId }: WebhookRow) => ({
  type: 'webhook',
  id,
  name,
  orgId,
  partnerId,
});

const changedFields = (dto: UpdateWebhookDto): string[] =>
  Object.entries(dto).flatMap(([name, value]) => (value === undefined ? [] : [name]));
