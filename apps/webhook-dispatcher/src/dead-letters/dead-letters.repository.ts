import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  Cursors,
  type KeysetRows,
  MAX_TOTAL,
  type PageRequest,
  type PageRows,
  TenantDatabase,
  TenantRepository,
  type TenantTransaction,
} from '@rmm/persistence';
import { type CursorRequest, offsetOf, pageBehind } from '../paging/numbered-pages.js';
import type { WebhookScope } from '../webhooks/webhook.entity.js';
import { DeadLetter } from './dead-letter.entity.js';
import { DeadLetterNotFound } from './dead-letter.errors.js';

/** Dead letters of all organizations that the caller has access to, or of the webhooks of partners. */
interface DeadLetterFilter {
  orgId?: string;
  webhookId?: string;
  scope: WebhookScope;
}

const OF_ORGANIZATION = { sql: 'deadLetter.orgId IS NOT NULL' };
/** Newest first. Planned for the values, since webhooks have none or millions. */
const ORDER = { sort: { failedAt: 'DESC', deliveryId: 'DESC' }, planForValues: true } as const;

@Injectable()
export class DeadLettersRepository extends TenantRepository<DeadLetter> {
  constructor(
    tenants: TenantDatabase,
    private readonly cursors: Cursors,
  ) {
    super(tenants, DeadLetter, () => new DeadLetterNotFound(), { ownership: 'organization' });
  }

  /** Lists a numbered page, newest first. @throws ValidationError  for a page behind 10,000 dead letters */
  async list(caller: Caller, filter: DeadLetterFilter, page: PageRequest): Promise<PageRows<DeadLetter>> {
    const selection = toSelection(filter);
    if (offsetOf(page) >= MAX_TOTAL) return pageBehind(await this.countListed(caller, selection));
    return this.listPage(caller, { ...selection, ...ORDER, page });
  }

  /** Lists the page after a cursor, newest first. @throws InvalidCursor */
  listAfter(caller: Caller, filter: DeadLetterFilter, request: CursorRequest): Promise<KeysetRows<DeadLetter>> {
    const binding = { caller, list: 'dead letters', filters: { ...filter } };
    return this.keysetPage(caller, this.cursors, binding, { ...toSelection(filter), ...ORDER, ...request });
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

function toSelection({ orgId, webhookId, scope }: DeadLetterFilter) {
  if (scope === 'partner') return { where: { orgId: null, eventOrgId: orgId, webhookId } };
  return { where: { orgId, webhookId }, conditions: [OF_ORGANIZATION] };
}
