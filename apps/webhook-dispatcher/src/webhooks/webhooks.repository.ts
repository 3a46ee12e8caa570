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

  /**
   * Deletes a locked webhook and its history; the webhook last, since no delivery is inserted while its row is locked.
   * In SQL because it deletes from six tables, of which the attempts by a join.
   * @returns ids of the deliveries whose dead letters were deleted
   */
  async deleteWithHistory(tx: TenantTransaction, id: string): Promise<string[]> {
    await tx.query(
      `DELETE FROM attempt a USING delivery d
       WHERE d.webhook_id = :id AND a.delivery_id = d.id AND a.created_at = d.created_at`,
      { id },
    );
    await tx.query('DELETE FROM request_shape WHERE webhook_id = :id', { id });
    await tx.query('DELETE FROM delivery WHERE webhook_id = :id', { id });
    const deadLetters = await tx.query<{ id: string }>(
      'DELETE FROM dead_letter WHERE webhook_id = :id RETURNING delivery_id AS id',
      { id },
    );
    await tx.query('DELETE FROM webhook_counter WHERE webhook_id = :id', { id });
    await this.delete(tx, { id });
    return deadLetters.map((deadLetter) => deadLetter.id);
  }
}
