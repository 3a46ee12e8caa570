import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { DeliveryNotFound } from '../deliveries/delivery.errors.js';
import type { WebhookHeader } from '../webhooks/webhook-headers.js';

export interface AttemptRow {
  attempt: number;
  startedAt: Date;
  durationMs: number | null;
  outcome: 'delivered' | 'retrying' | 'failed';
  responseStatus: number | null;
  responseHeaders: string | null;
  responseBody: string | null;
  errorMessage: string | null;
  /** Null when nothing was sent. */
  names: string[] | null;
  headers: WebhookHeader[] | null;
}

export interface LoggedDelivery {
  id: string;
  eventId: string;
  eventType: string;
  createdAt: Date;
}

// A delivery whose webhook ceased to be active ends without an attempt: `started_at` is then null.
const ATTEMPTS = `
  select attempt, started_at, duration_ms, 'retrying' as outcome, response_status, response_headers, response_body,
         error_message, request_shape
    from attempt where delivery_id = $1 and created_at = $2
  union all
  select attempt, started_at, response_time_ms, status, response_status, response_headers, response_body,
         error_message, request_shape
    from delivery
   where id = $1 and created_at = $2 and status in ('delivered', 'failed') and started_at is not null`;

@Injectable()
export class AttemptLogRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** @throws DeliveryNotFound */
  async delivery(caller: Caller, webhookId: string, id: string): Promise<LoggedDelivery> {
    const [row] = await this.tenants.read<LoggedDelivery>(
      caller,
      `select id, event_id as "eventId", event_type as "eventType", created_at as "createdAt"
         from delivery where webhook_id = $1 and id = $2`,
      [webhookId, id],
    );
    if (!row) throw new DeliveryNotFound();
    return row;
  }

  /** Oldest first. */
  async list(
    caller: Caller,
    { id, createdAt }: LoggedDelivery,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: AttemptRow[]; total: number }> {
    const key = [id, createdAt.toISOString()];
    const [rows, counted] = await Promise.all([
      this.tenants.read<AttemptRow>(
        caller,
        `select a.attempt, a.started_at as "startedAt", a.duration_ms as "durationMs", a.outcome,
                a.response_status as "responseStatus", a.response_headers as "responseHeaders",
                a.response_body as "responseBody", a.error_message as "errorMessage", s.names, s.headers
           from (${ATTEMPTS} order by attempt limit $3 offset $4) a
           left join request_shape s on s.id = a.request_shape
          order by a.attempt`,
        [...key, limit, offset],
      ),
      this.tenants.read<{ total: number }>(caller, `select count(*)::int as total from (${ATTEMPTS}) a`, key),
    ]);
    return { rows, total: counted[0]?.total ?? 0 };
  }
}
