import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  countMatching,
  Cursors,
  keysetPage,
  type KeysetRows,
  limitBytes,
  type PageRequest,
  type PageRows,
  takeBudgetColumns,
  TenantDatabase,
  tenantCondition,
  type TenantTransaction,
} from '@rmm/persistence';
import { type CursorRequest, offsetOf, pageBehind } from '../paging/numbered-pages.js';
import { ownerOf, type Webhook } from '../webhooks/webhook.entity.js';
import type { Delivery, DeliveryStatus } from './delivery.entity.js';
import { DeliveryNotFound } from './delivery.errors.js';
import type { EventBody } from './event-body.entity.js';

/** A delivery with the text that was sent; null once the text is no longer stored. */
export type DeliveryWithBody = Pick<
  Delivery,
  | 'id'
  | 'webhookId'
  | 'status'
  | 'eventType'
  | 'eventId'
  | 'responseStatus'
  | 'responseBody'
  | 'responseTimeMs'
  | 'errorMessage'
  | 'attempt'
  | 'maxAttempts'
  | 'dueAt'
  | 'createdAt'
  | 'deliveredAt'
> & {
  /** The organization of the event; null for a test of a webhook of the partner. */
  orgId: string | null;
  body: EventBody['body'] | null;
};

/** The deliveries of a webhook, of one status or event type where these are given. */
export interface DeliveryFilter {
  webhookId: string;
  status?: DeliveryStatus;
  eventType?: string;
}

export type NewDelivery = Pick<Delivery, 'id' | 'eventType' | 'eventId' | 'maxAttempts' | 'repeatOf'> & {
  /** The organization of the event; null for a test of a webhook of the partner. */
  orgId: string | null;
  webhook: Webhook;
  body: string;
};

const COLUMNS = `
  d.id, d.webhook_id AS "webhookId", coalesce(d.org_id, d.event_org_id) AS "orgId", d.status, d.event_type AS "eventType",
  d.event_id AS "eventId", b.body, d.response_status AS "responseStatus", d.response_body AS "responseBody",
  d.response_time_ms AS "responseTimeMs", d.error_message AS "errorMessage", d.attempt,
  d.max_attempts AS "maxAttempts", d.due_at AS "dueAt", d.created_at AS "createdAt", d.delivered_at AS "deliveredAt"`;
const WITH_BODY =
  'LEFT JOIN event_body b ON b.event_id = d.event_id AND b.org_id = coalesce(d.org_id, d.partner_id) AND b.created_at = d.created_at';

/** Each filter applies only when it is set. */
const FILTERS = {
  webhookId: 'd.webhook_id = :webhookId',
  eventType: 'd.event_type = :eventType',
} as const;

/** Constants, since the partial indexes over failed and open deliveries serve no parameter. */
const STATUS_FILTERS: Record<DeliveryStatus, string> = {
  pending: `d.status = 'pending'`,
  retrying: `d.status = 'retrying'`,
  delivered: `d.status = 'delivered'`,
  failed: `d.status = 'failed'`,
};

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

/** A body has up to 1 MB. */
const BUDGET = { columns: ['body', 'responseBody'] };

/** A plan that a connection keeps for any value reads the whole history for a rare event type or a webhook with few deliveries. */
const PLANNED = { planForValues: true };

/** Marked as joined, since the comparison of both columns is no condition of an index under row-level security. */
const NEWEST_FIRST = [
  { expression: 'd.created_at', type: 'timestamptz', joined: true },
  { expression: 'd.id', type: 'uuid' },
] as const;

/** The page is cut on the keys of the index before rows and bodies are read. */
const listOf = (where: string) => `
  SELECT ${COLUMNS} FROM (
    SELECT d.id, d.created_at FROM delivery d WHERE ${where}
    ORDER BY d.created_at DESC, d.id DESC LIMIT :limit OFFSET :offset
  ) page JOIN delivery d ON d.id = page.id AND d.created_at = page.created_at ${WITH_BODY}
  ORDER BY d.created_at DESC, d.id DESC`;
const GET = `SELECT ${COLUMNS} FROM delivery d ${WITH_BODY} WHERE d.webhook_id = :webhookId AND d.id = :id`;

/** Inserts a delivery that is due at once; its owner is notified. */
const INSERT = `
  WITH inserted AS (
    INSERT INTO delivery (id, created_at, partner_id, org_id, event_org_id, webhook_id, event_type, event_id,
                          max_attempts, repeat_of)
    VALUES (:id, date_trunc('milliseconds', clock_timestamp()), :partnerId, :ownOrgId, :eventOrgId, :webhookId,
            :eventType, :eventId, :maxAttempts, :repeatOf)
    RETURNING created_at
  ), counted AS (
    UPDATE webhook_counter SET total = total + 1 WHERE webhook_id = :webhookId
  )
  INSERT INTO event_body (event_id, created_at, partner_id, org_id, body)
  SELECT :eventId, created_at, :partnerId, :ownerId, :body FROM inserted
  ON CONFLICT DO NOTHING`;

/** Reads the history of deliveries. In SQL because its pages are cut on keys and its inserts span three tables. */
@Injectable()
export class DeliveriesRepository {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly cursors: Cursors,
  ) {}

  /** Lists a numbered page, newest first. @throws ValidationError  for a page behind 10,000 deliveries */
  async list(caller: Caller, filter: DeliveryFilter, page: PageRequest): Promise<PageRows<DeliveryWithBody>> {
    const { where, params } = toCondition(caller, filter);
    const matching = `SELECT 1 FROM delivery d WHERE ${where}`;
    const reader = this.tenants.reader(caller);
    const counted = await countMatching(reader, matching, params, PLANNED);
    const offset = offsetOf(page);
    if (offset >= counted.total) return pageBehind(counted);
    const sql = limitBytes(listOf(where), BUDGET);
    const [rows = []] = await reader.queryAll([{ sql, params: { ...params, limit: page.limit, offset }, ...PLANNED }]);
    const isTruncated = takeBudgetColumns(rows);
    return {
      rows: rows as unknown as DeliveryWithBody[],
      ...counted,
      ...(isTruncated && { truncated: true as const }),
    };
  }

  /** Lists the page after a cursor, newest first; empty for the first page. @throws InvalidCursor */
  listAfter(
    caller: Caller,
    filter: DeliveryFilter,
    { cursor, limit }: CursorRequest,
  ): Promise<KeysetRows<DeliveryWithBody>> {
    const binding = { caller, list: 'deliveries', filters: { ...filter } };
    return keysetPage(this.tenants.reader(caller), this.cursors, binding, {
      select: COLUMNS,
      from: `delivery d ${WITH_BODY}`,
      ...toCondition(caller, filter),
      sort: NEWEST_FIRST,
      direction: 'desc',
      limit,
      cursor,
      budget: BUDGET,
      ...PLANNED,
    });
  }

  /** @throws DeliveryNotFound */
  async get(tx: TenantTransaction, webhookId: string, id: string): Promise<DeliveryWithBody> {
    const [row] = await tx.query<DeliveryWithBody>(GET, { webhookId, id });
    if (!row) throw new DeliveryNotFound();
    return row;
  }

  async insert(tx: TenantTransaction, { webhook, orgId, ...delivery }: NewDelivery): Promise<void> {
    const { id: webhookId, partnerId, orgId: ownOrgId } = webhook;
    const eventOrgId = ownOrgId === null ? orgId : null;
    await tx.query(INSERT, { ...delivery, webhookId, partnerId, ownOrgId, eventOrgId, ownerId: ownerOf(webhook) });
  }
}

function toCondition(caller: Caller, filter: DeliveryFilter): { where: string; params: object } {
  const tenant = tenantCondition(caller, 'organization', 'd');
  const names = FILTER_NAMES.filter((name) => filter[name] !== undefined);
  const ofStatus = filter.status === undefined ? [] : [STATUS_FILTERS[filter.status]];
  return {
    where: [tenant.sql, ...names.map((name) => FILTERS[name]), ...ofStatus].join(' AND '),
    params: { ...tenant.params, ...Object.fromEntries(names.map((name) => [name, filter[name]])) },
  };
}
