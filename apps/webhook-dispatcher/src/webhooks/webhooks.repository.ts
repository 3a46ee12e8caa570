import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  type PageRequest,
  type PageRows,
  type QueryShape,
  TenantDatabase,
  TenantRepository,
  type TenantTransaction,
} from '@rmm/persistence';
import { WebhookCounter } from './webhook-counter.entity.js';
import { type NewWebhookSettings, type StoredWebhookStatus, Webhook, type WebhookSettings } from './webhook.entity.js';
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

/** Deletes what the list of dead letters shows first; the rest is purged with the history. */
const DELETE_DEAD_LETTERS = `
  WITH newest AS MATERIALIZED (
    SELECT delivery_id, failed_at FROM dead_letter WHERE webhook_id = :id ORDER BY failed_at DESC LIMIT 1000
  )
  DELETE FROM dead_letter l USING newest n WHERE l.delivery_id = n.delivery_id AND l.failed_at = n.failed_at`;

@Injectable()
export class WebhooksRepository extends TenantRepository<Webhook> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Webhook, () => new WebhookNotFound(), { ownership: 'organization' });
  }

  /** Lists a page, newest first. */
  list(
    caller: Caller,
    { orgId, status, page }: { orgId: string; status?: StoredWebhookStatus; page: PageRequest },
  ): Promise<PageRows<WebhookWithCounts>> {
    return this.listPage<WebhookWithCounts>(caller, { where: { orgId, status }, shape: WITH_COUNTS, page });
  }

  /** @throws WebhookNotFound */
  get(caller: Caller, id: string): Promise<WebhookWithCounts> {
    return this.getOne<WebhookWithCounts>(caller, { where: { id }, shape: WITH_COUNTS });
  }

  /** Locks the row until the transaction ends. @throws WebhookNotFound */
  lock(tx: TenantTransaction, id: string): Promise<WebhookWithCounts> {
    return this.getOne<WebhookWithCounts>(tx, { where: { id }, shape: WITH_COUNTS, lock: 'FOR UPDATE' });
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

  /** Counts the webhooks of an organization; other creations in it wait until the transaction ends. */
  async countForLimit(tx: TenantTransaction, orgId: string): Promise<number> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('webhooks:' || :orgId, 0))`, { orgId });
    return tx.repository(Webhook).countBy({ orgId });
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
