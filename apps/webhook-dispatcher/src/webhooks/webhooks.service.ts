import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  type DirectoryOrganization,
  OrganizationAccessDenied,
  OrganizationDirectory,
  type UserCaller,
} from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch } from '@rmm/service-kit';
import { type Paged, toPage } from '@rmm/validation';
import { PurgeDeletedWebhooksJob } from '../background/purge-deleted-webhooks.job.js';
import type { CreatePartnerWebhookDto } from './dto/create-partner-webhook.dto.js';
import type { CreateWebhookDto } from './dto/create-webhook.dto.js';
import type { ListWebhooksDto } from './dto/list-webhooks.dto.js';
import type { UpdateWebhookDto } from './dto/update-webhook.dto.js';
import type { WebhookDto, WebhookWithStatsDto } from './dto/webhook.dto.js';
import { WebhookSettingsService } from './webhook-settings.service.js';
import type { WebhookOwner, WebhookScope } from './webhook.entity.js';
import { OrganizationContextRequired, TooManyPartnerWebhooks, TooManyWebhooks } from './webhook.errors.js';
import { toStoredStatus, webhookChanged, WebhookMapper, webhookResource } from './webhook.mapper.js';
import { WebhooksRepository, type WebhookWithCounts } from './webhooks.repository.js';

/** Webhooks of an organization. */
const MAX_WEBHOOKS = 100;
/** Webhooks of a partner itself, each of which may get the events of all its organizations. */
const MAX_PARTNER_WEBHOOKS = 20;

@Injectable()
export class WebhooksService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: WebhooksRepository,
    private readonly organizations: OrganizationDirectory,
    private readonly settings: WebhookSettingsService,
    private readonly mapper: WebhookMapper,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly purge: PurgeDeletedWebhooksJob,
  ) {}

  /** Lists a page, newest first. @throws OrganizationContextRequired, OrganizationAccessDenied */
  async list(caller: UserCaller, query: ListWebhooksDto): Promise<Paged<WebhookDto>> {
    const { orgId } = await this.getOrganization(caller, query.orgId);
    const status = query.status && toStoredStatus(query.status);
    const { rows, ...counted } = await this.repository.list(caller, { orgId, status, page: query });
    return toPage(
      query,
      counted,
      rows.map((row) => this.mapper.toDto(row)),
    );
  }

  /** @throws WebhookNotFound */
  async get(caller: UserCaller, id: string): Promise<WebhookWithStatsDto> {
    return this.mapper.toDtoWithStats(await this.repository.get(caller, id));
  }

  /**
   * @throws OrganizationContextRequired, OrganizationAccessDenied, TooManyWebhooks, and what
   *   `WebhookSettingsService.create` throws
   */
  async create(caller: UserCaller, dto: CreateWebhookDto): Promise<WebhookDto> {
    const { orgId, partnerId } = await this.getOrganization(caller, dto.orgId);
    return this.mapper.toDto(await this.createFor(caller, { orgId, partnerId }, dto));
  }

  /** Creates a webhook of an organization or partner that the caller has access to. @throws as `create` */
  async createFor(
    caller: UserCaller,
    { partnerId, orgId }: WebhookOwner,
    dto: CreatePartnerWebhookDto,
  ): Promise<WebhookWithCounts> {
    const id = randomUUID();
    const settings = await this.settings.create(id, dto);
    return this.tenants.transaction(caller, async (tx) => {
      const count = await this.repository.countForLimit(tx, { partnerId, orgId });
      if (orgId === null && count >= MAX_PARTNER_WEBHOOKS) throw new TooManyPartnerWebhooks();
      if (count >= MAX_WEBHOOKS) throw new TooManyWebhooks();
      const row = await this.repository.create(tx, { ...settings, id, orgId, partnerId, createdBy: caller.userId });
      await this.audit.record(tx, caller, 'webhook.create', webhookResource(row), { events: row.events });
      await this.outbox.publish(tx, webhookChanged(row));
      return row;
    });
  }

  /** @throws WebhookNotFound, RecordChanged, and what `WebhookSettingsService.checkPatch` throws */
  async update(caller: UserCaller, id: string, dto: UpdateWebhookDto): Promise<WebhookDto> {
    return this.mapper.toDto(await this.change(caller, id, dto, 'organization'));
  }

  /** Applies a patch; the URL is checked before the transaction, since that queries DNS. @throws as `update` */
  async change(caller: UserCaller, id: string, dto: UpdateWebhookDto, scope: WebhookScope): Promise<WebhookWithCounts> {
    const patch = await this.settings.checkPatch(await this.repository.get(caller, id, scope), dto);
    return this.tenants.transaction(caller, async (tx) => {
      const stored = await this.lock(tx, id, scope);
      if (dto.status === 'active') await this.repository.resetFailingSince(tx, id);
      const row = await this.repository.change(tx, stored, this.settings.applyPatch(stored, patch));
      await this.audit.record(tx, caller, 'webhook.update', webhookResource(row), { changed: changedFields(patch) });
      await this.outbox.publish(tx, webhookChanged(row));
      return row;
    });
  }

  /** Deletes the webhook at once; its deliveries are purged in the background. @throws WebhookNotFound, RecordChanged */
  async delete(caller: UserCaller, id: string, scope: WebhookScope = 'organization'): Promise<{ success: true }> {
    await this.tenants.transaction(caller, async (tx) => {
      const row = await this.lock(tx, id, scope);
      await this.repository.deleteWebhook(tx, row);
      tx.afterCommit(() => void this.purge.start(id));
      await this.audit.record(tx, caller, 'webhook.delete', webhookResource(row));
      await this.outbox.publish(tx, webhookChanged(row, true));
    });
    return { success: true };
  }

  /** Locks a webhook that `If-Match` of the request allows to change. @throws WebhookNotFound, RecordChanged */
  private async lock(tx: TenantTransaction, id: string, scope: WebhookScope): Promise<WebhookWithCounts> {
    const row = await this.repository.lock(tx, id, scope);
    await assertIfMatch(() => (scope === 'partner' ? this.mapper.toPartnerDto(row) : this.mapper.toDto(row)));
    return row;
  }

  /**
   * Returns the organization a list or a create is about. Organization callers may omit it and may only name their own;
   * all others must name one they have access to.
   * @throws OrganizationContextRequired, OrganizationAccessDenied
   */
  private async getOrganization(caller: UserCaller, requested: string | undefined): Promise<DirectoryOrganization> {
    const { scope, orgId } = caller.tenant;
    if (scope === 'organization') {
      if (orgId === null || (requested !== undefined && requested !== orgId)) throw new OrganizationAccessDenied();
      return this.organizations.assertOrganizationAccess(caller, orgId);
    }
    if (requested === undefined) throw new OrganizationContextRequired();
    return this.organizations.assertOrganizationAccess(caller, requested);
  }
}

const changedFields = (patch: UpdateWebhookDto): string[] =>
  Object.entries(patch).flatMap(([name, value]) => (value === undefined ? [] : [name]));
