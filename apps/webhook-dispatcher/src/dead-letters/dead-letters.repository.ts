import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  type PageRequest,
  type PageRows,
  TenantDatabase,
  TenantRepository,
  type TenantTransaction,
} from '@rmm/persistence';
import type { WebhookScope } from '../webhooks/webhook.entity.js';
import { DeadLetter } from './dead-letter.entity.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';

const OF_ORGANIZATION = { sql: 'deadLetter.orgId IS NOT NULL' };

@Injectable()
export class DeadLettersRepository extends TenantRepository<DeadLetter> {
  constructor(tenants: TenantDatabase) {
    super(tenants, DeadLetter, () => new DeadLetterNotFound(), { ownership: 'organization' });
  }

  /** Lists a page of all organizations the caller has access to, or of the webhooks of partners, newest first. */
  list(
    caller: Caller,
    { orgId, webhookId }: { orgId?: string; webhookId?: string },
    page: PageRequest,
    scope: WebhookScope = 'organization',
  ): Promise<PageRows<DeadLetter>> {
    const sort = { failedAt: 'DESC', deliveryId: 'DESC' } as const;
    const planForValues = true; // webhooks have none or millions
    if (scope === 'partner') {
      return this.listPage(caller, { where: { orgId: null, eventOrgId: orgId, webhookId }, sort, page, planForValues });
    }
    const where = { orgId, webhookId };
    return this.listPage(caller, { where, conditions: [OF_ORGANIZATION], sort, page, planForValues });
  }

  /** @throws DeadLetterNotFound */
  get(tx: TenantTransaction, deliveryId: string): Promise<DeadLetter> {
    return this.getOne(tx, { where: { deliveryId } });
  }

  /** Deletes a dead letter; of two concurrent calls one succeeds. @returns whether it was stored */
  async remove(tx: TenantTransaction, deliveryId: string): Promise<boolean> {
    return (await this.delete(tx, { deliveryId })) > 0;
  }
}
