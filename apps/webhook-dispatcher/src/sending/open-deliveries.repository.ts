import { Injectable } from '@nestjs/common';
import { NIL_UUID, WorkerDatabase } from '@rmm/persistence';
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

interface OpenRow {
  webhookId: string;
  orgId: string | null;
  dueMs: number;
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

const PAGE = 1_000;

/**
 * Lists webhooks with open rows, from one to the next in the index of open rows: the others are not read. `orgId` is null for
 * a deleted webhook.
 */
const LIST_OPEN = `
  WITH RECURSIVE waiting AS (
    (SELECT d.webhook_id, d.due_at FROM delivery d WHERE ${OPEN} AND d.webhook_id > :after::uuid
     ORDER BY d.webhook_id, d.due_at LIMIT 1)
    UNION ALL
    SELECT later.webhook_id, later.due_at FROM waiting CROSS JOIN LATERAL (
      SELECT d.webhook_id, d.due_at FROM delivery d WHERE ${OPEN} AND d.webhook_id > waiting.webhook_id
      ORDER BY d.webhook_id, d.due_at LIMIT 1) later
  )
  SELECT o.webhook_id AS "webhookId", coalesce(w.org_id, w.partner_id) AS "orgId",
         (extract(epoch FROM o.due_at - now()) * 1000)::float8 AS "dueMs"
  FROM (SELECT * FROM waiting LIMIT ${PAGE}) o LEFT JOIN webhook w ON w.id = o.webhook_id
  ORDER BY o.webhook_id`;

const LIST_PAUSED = `
  SELECT w.id AS "webhookId", coalesce(w.org_id, w.partner_id) AS "orgId",
         (extract(epoch FROM c.paused_until - now()) * 1000)::float8 AS "pauseMs"
  FROM webhook_counter c JOIN webhook w ON w.id = c.webhook_id
  WHERE c.paused_until > now()`;

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
    const open = new Map<string, OpenWebhook>();
    for (const row of await this.worker.query<Omit<OpenWebhook, 'dueMs'>>(LIST_PAUSED)) {
      if (isIncluded(row.orgId)) open.set(row.webhookId, { ...row, dueMs: null });
    }
    let page: OpenRow[];
    let after: string = NIL_UUID;
    do {
      page = await this.worker.query<OpenRow>(LIST_OPEN, { after });
      for (const { webhookId, orgId, dueMs } of page) {
        if (orgId === null || !isIncluded(orgId)) continue;
        open.set(webhookId, { webhookId, orgId, dueMs, pauseMs: open.get(webhookId)?.pauseMs ?? 0 });
      }
      after = page.at(-1)?.webhookId ?? after;
    } while (page.length === PAGE);
    return [...open.values()];
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
