import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import type { WebhookRow } from '../webhooks/webhook-row.js';
import { DeliveryNotFound } from './delivery.errors.js';
import type { DeliveryRow, DeliveryStatus } from './dto/delivery.dto.js';

const COLUMNS = `
  d.id, d.webhook_id as "webhookId", d.org_id as "orgId", d.status, d.event_type as event, d.event_id as "eventId",
  b.body, d.response_status as "responseStatus", d.response_body as "responseBody",
  d.response_time_ms as "responseTimeMs", d.error_message as "errorMessage", d.attempt,
  d.max_attempts as "maxAttempts", d.due_at as "dueAt", d.created_at as "createdAt", d.delivered_at as "deliveredAt"`;
const WITH_BODY =
  'left join event_body b on b.event_id = d.event_id and b.org_id = d.org_id and b.created_at = d.created_at';
const MATCHING = `webhook_id = $1 and ($2::text is null or status = $2) and ($3::text is null or event_type = $3)`;

// The page is cut on keys, which the index has, before rows and bodies are looked for.
const LIST = `
  select ${COLUMNS} from (
    select id, created_at from delivery where ${MATCHING} order by created_at desc, id desc limit $4 offset $5
  ) page join delivery d on d.id = page.id and d.created_at = page.created_at ${WITH_BODY}
  order by d.created_at desc, d.id desc`;
const COUNT = `select count(*)::int as total from delivery where ${MATCHING}`;
const GET = `select ${COLUMNS} from delivery d ${WITH_BODY} where d.webhook_id = $1 and d.id = $2`;

export interface NewDelivery {
  id: string;
  webhook: WebhookRow;
  eventType: string;
  eventId: string;
  body: string;
  maxAttempts: number;
  /** The delivery it sends again. */
  repeatOf: string | null;
}

/** The history of deliveries, inside the caller's tenant. */
@Injectable()
export class DeliveriesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  async list(
    caller: Caller,
    filter: { webhookId: string; status: DeliveryStatus | null; event: string | null; limit: number; offset: number },
  ): Promise<{ rows: DeliveryRow[]; total: number }> {
    const params = [filter.webhookId, filter.status, filter.event];
    const [counted] = await this.tenants.read<{ total: number }>(caller, COUNT, params);
    const total = counted?.total ?? 0;
    // A page past the end is known to be empty: nothing is walked over to find that out.
    if (filter.offset >= total) return { rows: [], total };
    const rows = await this.tenants.read<DeliveryRow>(caller, LIST, [...params, filter.limit, filter.offset]);
    return { rows, total };
  }

  /** @throws DeliveryNotFound */
  async get(tx: TenantTransaction, webhookId: string, id: string): Promise<DeliveryRow> {
    const [row] = await tx.query<DeliveryRow>(GET, [webhookId, id]);
    if (!row) throw new DeliveryNotFound();
    return row;
  }

  /** Held by nobody and due at once: whoever sweeps first sends it. */
  async insert(
    tx: TenantTransaction,
    { id, webhook, eventType, eventId, body, maxAttempts, repeatOf }: NewDelivery,
  ): Promise<void> {
    await tx.query(
      `with made as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts,
                               repeat_of)
         values ($1, date_trunc('milliseconds', clock_timestamp()), $2, $3, $4, $5, $6, $7, $9)
         returning created_at
       ), counted as (
         update webhook_counter set total = total + 1 where webhook_id = $4
       )
       insert into event_body (event_id, created_at, partner_id, org_id, body)
       select $6, created_at, $2, $3, $8 from made
       on conflict do nothing`,
      [id, webhook.partnerId, webhook.orgId, webhook.id, eventType, eventId, maxAttempts, body, repeatOf],
    );
  }
}
