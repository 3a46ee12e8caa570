import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  type HasTenant,
  type PageRequest,
  type PageRows,
  type QueryShape,
  TenantDatabase,
  TenantRepository,
  type TenantTransaction,
} from '@rmm/persistence';
import { WebhookCounter } from './webhook-counter.entity.js';
import {
  type NewWebhookSettings,
  ownerOf,
  type StoredWebhookStatus,
  Webhook,
  type WebhookOwner,
  type WebhookScope,
  type WebhookSettings,
} from './webhook.entity.js';
import { WebhookNotFound } from './webhook.errors.js';

const COUNTS = ['total', 'delivered', 'failed', 'retrying', 'lastDeliveryAt', 'lastSuccessAt'] as const;

/** A webhook with the counts of its deliveries. */
export type WebhookWithCounts = Webhook & Pick<WebhookCounter, (typeof COUNTS)[number]>;

export type NewWebhook = NewWebhookSettings & Pick<Webhook, 'id' | 'partnerId' | 'orgId' | 'createdBy'>;

const WITH_COUNTS: QueryShape<Webhook> = {
  key: 'counts',
  build: (query) => {
    query.innerJoin(WebhookCounter, 'counter', 'counter.webhookId = webhook.id');
    for (const property of COUNTS) query.addSelect(`counter.${property}`, property);
    return query;
  },
};

/** Selects a webhook of the scope: a webhook of a partner does not exist for the routes of organizations, nor the reverse. */
const selectionOf = (id: string, scope: WebhookScope) =>
  scope === 'partner' ? { where: { id, orgId: null } } : { where: { id }, conditions: [OF_ORGANIZATION] };

const OF_ORGANIZATION = { sql: 'webhook.orgId IS NOT NULL' };

/**
 * Deletes what the list of dead letters shows first; the rest is purged with the history. The times leave out the partitions
 * of other days; for a join PostgreSQL would read the dead letters of all days.
 */
const DELETE_DEAD_LETTERS = `
  WITH newest AS MATERIALIZED (
    SELECT delivery_id, failed_at FROM dead_letter WHERE webhook_id = :id ORDER BY failed_at DESC LIMIT 1000
  )
  DELETE FROM dead_letter
  WHERE failed_at >= (SELECT min(failed_at) FROM newest) AND delivery_id = ANY (ARRAY(SELECT delivery_id FROM newest))`;

@Injectable()
export class WebhooksRepository extends TenantRepository<Webhook> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Webhook, () => new WebhookNotFound(), { ownership: 'organization' });
  }

  /** Lists a page, newest first. @param orgId  null for those of the partner itself */
  list(
    caller: HasTenant,
    { page, ...where }: { partnerId?: string; orgId: string | null; status?: StoredWebhookStatus; page: PageRequest },
  ): Promise<PageRows<WebhookWithCounts>> {
    const budget = { columns: ['headers', 'urlSealed', 'events'] };
    return this.listPage<WebhookWithCounts>(caller, { where, shape: WITH_COUNTS, page, budget });
  }

  /** @throws WebhookNotFound */
  get(caller: Caller, id: string, scope: WebhookScope = 'organization'): Promise<WebhookWithCounts> {
    return this.getOne<WebhookWithCounts>(caller, { ...selectionOf(id, scope), shape: WITH_COUNTS });
  }

  /** Locks the row until the transaction ends. @throws WebhookNotFound */
  lock(tx: TenantTransaction, id: string, scope: WebhookScope = 'organization'): Promise<WebhookWithCounts> {
    return this.getOne<WebhookWithCounts>(tx, { ...selectionOf(id, scope), shape: WITH_COUNTS, lock: 'FOR UPDATE' });
  }

  async create(tx: TenantTransaction, webhook: NewWebhook): Promise<WebhookWithCounts> {
    const { id, partnerId, orgId } = await this.insert(tx, webhook);
    await tx.repository(WebhookCounter).insert({ webhookId: id, partnerId, orgId });
    return this.getOne<WebhookWithCounts>(tx, { where: { id }, shape: WITH_COUNTS });
  }

  /** Changes a locked row. */
  async change(
    tx: TenantTransaction,
    stored: WebhookWithCounts,
    settings: Partial<WebhookSettings>,
  ): Promise<WebhookWithCounts> {
    return { ...stored, ...(await this.updateOne(tx, { id: stored.id }, settings)) };
  }

  /** Restarts the period after which a webhook without a success is set to failed. */
  async resetFailingSince(tx: TenantTransaction, webhookId: string): Promise<void> {
    await tx.repository(WebhookCounter).update({ webhookId }, { failingSince: null });
  }

  /** Counts the webhooks of an organization, or of a partner itself; other creations there wait until the transaction ends. */
  async countForLimit(tx: TenantTransaction, owner: WebhookOwner): Promise<number> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('webhooks:' || :owner, 0))`, {
      owner: ownerOf(owner),
    });
    return this.count(tx, { where: { partnerId: owner.partnerId, orgId: owner.orgId } });
  }

  /** Deletes a locked webhook, and lists it as one whose history has to be purged. */
  async deleteWebhook(tx: TenantTransaction, { id, partnerId, orgId }: Webhook): Promise<void> {
    await tx.query('INSERT INTO deleted_webhook (webhook_id, partner_id, org_id) VALUES (:id, :partnerId, :orgId)', {
      id,
      partnerId,
      orgId,
    });
    await tx.query(DELETE_DEAD_LETTERS, { id });
    await tx.repository(WebhookCounter).delete({ webhookId: id });
    await this.delete(tx, { id });
  }
}
