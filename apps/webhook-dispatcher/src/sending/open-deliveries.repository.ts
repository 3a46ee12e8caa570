import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { partitionOf } from '../replicas/partition-of.js';
import type { QueuedDelivery } from './queued-delivery.js';

export interface WantedRows {
  webhookId: string;
  /** Number of due rows to read, with those already in memory. */
  rows: number;
  bytes: number;
  /** True when the first row is read whatever its size: the webhook has none in memory. */
  isEmpty: boolean;
}

export interface DueRows {
  webhookId: string;
  /** Rows that fit. */
  deliveries: QueuedDelivery[];
  /** Rows that are due, up to those wanted. */
  dueCount: number;
  /** When the next row is due that is not due yet, in milliseconds from now; null without any. */
  nextDueMs: number | null;
}

/** A webhook with open deliveries, or whose receiver asked for a pause that has not ended. */
export interface OpenWebhook {
  webhookId: string;
  /** @see ownerOf */
  orgId: string;
  /** When its first open row is due, in milliseconds from now; null without any. */
  dueMs: number | null;
  /** For how long it gets no attempts, in milliseconds from now; at most 0 when it may get some. */
  pauseMs: number;
}

interface DueRow {
  webhookId: string;
  nextDueMs: number | null;
  id: string | null;
  createdAt: Date;
  partnerId: string;
  orgId: string;
  eventId: string;
  eventType: string;
  attempt: number;
  maxAttempts: number;
  fits: boolean | null;
  body: string | null;
}

const OPEN = `d.status IN ('pending', 'retrying')`;

/**
 * Reads the due rows of webhooks, oldest first: one index range for each webhook. The texts of those that do not fit stay in
 * the table; `octet_length` does not read them.
 */
const READ_DUE = `
  SELECT w.webhook_id AS "webhookId", d.id, d.created_at AS "createdAt", d.partner_id AS "partnerId",
         coalesce(d.org_id, d.partner_id) AS "orgId", d.event_id AS "eventId", d.event_type AS "eventType", d.attempt,
         d.max_attempts AS "maxAttempts", f.fits, CASE WHEN f.fits THEN d.body END AS body,
         (SELECT (extract(epoch FROM min(d.due_at) - now()) * 1000)::float8 FROM delivery d
          WHERE d.webhook_id = w.webhook_id AND ${OPEN} AND d.due_at > now()) AS "nextDueMs"
  FROM unnest(:webhookIds::uuid[], :rows::int[], :bytes::int[], :areEmpty::boolean[]) AS w(webhook_id, rows, bytes, is_empty)
  LEFT JOIN LATERAL (
    SELECT due.*, b.body, row_number() OVER in_order AS position, coalesce(sum(octet_length(b.body)) OVER in_order, 0) AS bytes
    FROM (SELECT d.* FROM delivery d
          WHERE d.webhook_id = w.webhook_id AND ${OPEN} AND d.due_at <= now() AND d.id <> ALL(:known::uuid[])
          ORDER BY d.due_at, d.id LIMIT w.rows) due
    LEFT JOIN event_body b ON b.event_id = due.event_id AND b.org_id = coalesce(due.org_id, due.partner_id)
                          AND b.created_at = due.created_at
    WINDOW in_order AS (ORDER BY due.due_at, due.id)
  ) d ON true
  CROSS JOIN LATERAL (SELECT d.bytes <= w.bytes OR (w.is_empty AND d.position = 1) AS fits) f`;

const LIST_OPEN = `
  SELECT w.id AS "webhookId", coalesce(w.org_id, w.partner_id) AS "orgId",
         (extract(epoch FROM o.due_at - now()) * 1000)::float8 AS "dueMs",
         coalesce(extract(epoch FROM c.paused_until - now()) * 1000, 0)::float8 AS "pauseMs"
  FROM webhook w
  LEFT JOIN webhook_counter c ON c.webhook_id = w.id
  CROSS JOIN LATERAL (SELECT min(d.due_at) AS due_at FROM delivery d WHERE d.webhook_id = w.id AND ${OPEN}) o
  WHERE w.id = ANY(:ids::uuid[]) AND (o.due_at IS NOT NULL OR c.paused_until > now())`;

const CHUNK = 500;

/** Reads the deliveries that wait in the table. */
@Injectable()
export class OpenDeliveriesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @param known  deliveries in memory, which are left out */
  async readDue(wanted: readonly WantedRows[], known: readonly string[]): Promise<DueRows[]> {
    const rows = await this.worker.query<DueRow>(READ_DUE, {
      webhookIds: wanted.map(({ webhookId }) => webhookId),
      rows: wanted.map((one) => one.rows),
      bytes: wanted.map((one) => one.bytes),
      areEmpty: wanted.map((one) => one.isEmpty),
      known,
    });
    const read = new Map<string, DueRows>();
    for (const row of rows) {
      const { webhookId, nextDueMs } = row;
      const ofWebhook = read.get(webhookId) ?? { webhookId, deliveries: [], dueCount: 0, nextDueMs };
      read.set(webhookId, ofWebhook);
      if (row.id === null) continue;
      ofWebhook.dueCount += 1;
      if (row.fits) ofWebhook.deliveries.push(toDelivery(row, row.id));
    }
    return [...read.values()];
  }

  /** Returns those of the ids of an event's deliveries that are stored. */
  async findStored(ids: readonly string[], createdAt: Date): Promise<ReadonlySet<string>> {
    const rows = await this.worker.query<{ id: string }>(
      'SELECT id FROM delivery WHERE id = ANY(:ids::uuid[]) AND created_at = :createdAt',
      { ids, createdAt: createdAt.toISOString() },
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Lists the webhooks with open deliveries or a pause, of all that are included. */
  async listOpen(isIncluded: (orgId: string) => boolean): Promise<OpenWebhook[]> {
    const webhooks = await this.worker.query<{ id: string; orgId: string }>(
      'SELECT id, coalesce(org_id, partner_id) AS "orgId" FROM webhook',
    );
    const ids = webhooks.flatMap(({ id, orgId }) => (isIncluded(orgId) ? [id] : []));
    const open: OpenWebhook[] = [];
    for (let i = 0; i < ids.length; i += CHUNK) {
      open.push(...(await this.worker.query<OpenWebhook>(LIST_OPEN, { ids: ids.slice(i, i + CHUNK) })));
    }
    return open;
  }
}

const toDelivery = (row: DueRow, id: string): QueuedDelivery => ({
  id,
  createdAt: row.createdAt,
  webhookId: row.webhookId,
  partnerId: row.partnerId,
  orgId: row.orgId,
  partition: partitionOf(row.orgId),
  eventId: row.eventId,
  eventType: row.eventType,
  body: row.body === null ? null : Buffer.from(row.body),
  maxAttempts: row.maxAttempts,
  attempt: row.attempt,
  event: null,
  isStored: true,
  hasOutcome: false,
  state: 'table',
});
