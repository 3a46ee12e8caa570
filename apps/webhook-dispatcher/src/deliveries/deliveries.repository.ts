import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  countMatching,
  limitBytes,
  type PageRequest,
  type PageRows,
  takeBudgetColumns,
  TenantDatabase,
  tenantCondition,
  type TenantTransaction,
} from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
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
  webhookId: 'm.webhook_id = :webhookId',
  eventType: 'm.event_type = :eventType',
} as const;

/** Constants, since the partial indexes over failed and open deliveries serve no parameter. */
const STATUS_FILTERS: Record<DeliveryStatus, string> = {
  pending: `m.status = 'pending'`,
  retrying: `m.status = 'retrying'`,
  delivered: `m.status = 'delivered'`,
  failed: `m.status = 'failed'`,
};

/** The rows that pages may skip: the time for a page grows with them. */
const MAX_OFFSET = 100_000;

const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

/** A body has up to 1 MB. */
const BUDGET = { columns: ['body', 'responseBody'] };

/** A plan that a connection keeps for any value reads the whole history for a rare event type or a webhook with few deliveries. */
const PLANNED = { planForValues: true };

/** The page is cut on the keys of the index before rows and bodies are read. */
const listOf = (where: string) => `
  SELECT ${COLUMNS} FROM (
    SELECT m.id, m.created_at FROM delivery m WHERE ${where}
    ORDER BY m.created_at DESC, m.id DESC LIMIT :limit OFFSET :offset
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
  constructor(private readonly tenants: TenantDatabase) {}

  /** Lists a page, newest first. @throws ValidationError  for a page behind 100,000 deliveries */
  async list(
    caller: Caller,
    filter: { webhookId: string; status?: DeliveryStatus; eventType?: string },
    { page, limit }: PageRequest,
  ): Promise<PageRows<DeliveryWithBody>> {
    const tenant = tenantCondition(caller, 'organization', 'm');
    const names = FILTER_NAMES.filter((name) => filter[name] !== undefined);
    const ofStatus = filter.status === undefined ? [] : [STATUS_FILTERS[filter.status]];
    const where = [tenant.sql, ...names.map((name) => FILTERS[name]), ...ofStatus].join(' AND ');
    const params = { ...tenant.params, ...Object.fromEntries(names.map((name) => [name, filter[name]])) };
    const matching = `SELECT 1 FROM delivery m WHERE ${where}`;
    const reader = this.tenants.reader(caller);
    const counted = await countMatching(reader, matching, params, PLANNED);
    const offset = (page - 1) * limit;
    // A page after the last one would read the whole index to find no row.
    if (offset >= counted.total && !counted.totalCapped) return { rows: [], ...counted };
    if (offset > MAX_OFFSET) throw ValidationError.forField('page', 'must begin within the first 100,000 deliveries');
    const sql = limitBytes(listOf(where), BUDGET);
    const [rows = []] = await reader.queryAll([{ sql, params: { ...params, limit, offset }, ...PLANNED }]);
    const isTruncated = takeBudgetColumns(rows);
    return {
      rows: rows as unknown as DeliveryWithBody[],
      ...counted,
      ...(isTruncated && { truncated: true as const }),
    };
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
