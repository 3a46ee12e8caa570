import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { type SqlExecutor, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { readRetryPolicy } from '../sending/retry-delay.js';
import { WebhookNotFound } from './webhook.errors.js';
import type { WebhookRow, WebhookSettings } from './webhook-row.js';
import type { StoredWebhookStatus } from './webhook-status.js';

const COLUMNS = `
  w.id, w.partner_id as "partnerId", w.org_id as "orgId", w.name, w.url_sealed as "urlSealed",
  w.secret_sealed as "secretSealed", w.previous_secret_sealed as "previousSecretSealed",
  w.secret_overlap_until as "secretOverlapUntil", w.standard_webhooks as "standardWebhooks", w.headers, w.events, w.status, w.created_by as "createdBy",
  w.created_at as "createdAt", w.updated_at as "updatedAt",
  c.total, c.delivered, c.failed, c.retrying,
  c.last_delivery_at as "lastDeliveryAt", c.last_success_at as "lastSuccessAt"`;
const FROM = 'webhook w join webhook_counter c on c.webhook_id = w.id';
const GET = `select ${COLUMNS} from ${FROM} where w.id = $1`;
const OF_ORG = `w.org_id = $1 and ($2::text is null or w.status = $2)`;
const LIST = `
  select ${COLUMNS} from ${FROM} where ${OF_ORG}
   order by w.created_at desc, w.id desc limit $3 offset $4`;
const COUNT = `select count(*)::int as total from webhook w where ${OF_ORG}`;

export interface NewWebhook extends WebhookSettings {
  id: string;
  partnerId: string;
  orgId: string;
  createdBy: string | null;
}

@Injectable()
export class WebhooksRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** @throws WebhookNotFound */
  async get(caller: Caller, id: string): Promise<WebhookRow> {
    return one(this.tenants.reader(caller), id);
  }

  /** Attempts a new delivery may take, by the policy stored with the webhook. */
  async maxAttempts(tx: TenantTransaction, id: string): Promise<number> {
    const [row] = await tx.query<{ policy: unknown }>('select retry_policy as policy from webhook where id = $1', [id]);
    return readRetryPolicy(row?.policy).maxRetries + 1;
  }

  /** Locks it against other writers until the transaction ends. @throws WebhookNotFound */
  async lock(tx: TenantTransaction, id: string): Promise<WebhookRow> {
    const rows = await tx.query('select id from webhook where id = $1 for update', [id]);
    if (rows.length === 0) throw new WebhookNotFound();
    return one(tx, id);
  }

  async list(
    caller: Caller,
    filter: { orgId: string; status: StoredWebhookStatus | null; limit: number; offset: number },
  ): Promise<{ rows: WebhookRow[]; total: number }> {
    const params = [filter.orgId, filter.status];
    const [rows, counted] = await Promise.all([
      this.tenants.read<WebhookRow>(caller, LIST, [...params, filter.limit, filter.offset]),
      this.tenants.read<{ total: number }>(caller, COUNT, params),
    ]);
    return { rows, total: counted[0]?.total ?? 0 };
  }

  async insert(tx: TenantTransaction, webhook: NewWebhook): Promise<WebhookRow> {
    const { id, partnerId, orgId } = webhook;
    await tx.query(
      `insert into webhook (id, partner_id, org_id, created_by, name, url_sealed, secret_sealed, headers, events, status,
                            previous_secret_sealed, secret_overlap_until, standard_webhooks)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [id, partnerId, orgId, webhook.createdBy, ...settingsOf(webhook)],
    );
    await tx.query('insert into webhook_counter (webhook_id, partner_id, org_id) values ($1, $2, $3)', [
      id,
      partnerId,
      orgId,
    ]);
    return one(tx, id);
  }

  async update(tx: TenantTransaction, id: string, settings: WebhookSettings): Promise<WebhookRow> {
    await tx.query(
      `update webhook set name = $2, url_sealed = $3, secret_sealed = $4, headers = $5, events = $6, status = $7,
              previous_secret_sealed = $8, secret_overlap_until = $9, standard_webhooks = $10, updated_at = now()
        where id = $1`,
      [id, ...settingsOf(settings)],
    );
    return one(tx, id);
  }

  /** What it failed at before does not count any more. */
  async restartClock(tx: TenantTransaction, id: string): Promise<void> {
    await tx.query('update webhook_counter set failing_since = null where webhook_id = $1', [id]);
  }

  /**
   * The webhook last: while its row is locked nothing new is inserted for it.
   * @returns ids of deliveries whose dead letters went with it
   */
  async delete(tx: TenantTransaction, id: string): Promise<string[]> {
    await tx.query(
      `delete from attempt a using delivery d
        where d.webhook_id = $1 and a.delivery_id = d.id and a.created_at = d.created_at`,
      [id],
    );
    await tx.query('delete from request_shape where webhook_id = $1', [id]);
    await tx.query('delete from delivery where webhook_id = $1', [id]);
    const letters = await tx.query<{ id: string }>(
      'delete from dead_letter where webhook_id = $1 returning delivery_id as id',
      [id],
    );
    await tx.query('delete from webhook_counter where webhook_id = $1', [id]);
    await tx.query('delete from webhook where id = $1', [id]);
    return letters.map((letter) => letter.id);
  }
}

async function one(executor: SqlExecutor, id: string): Promise<WebhookRow> {
  const [row] = await executor.query<WebhookRow>(GET, [id]);
  if (!row) throw new WebhookNotFound();
  return row;
}

const settingsOf = (s: WebhookSettings): unknown[] => [
  s.name,
  s.urlSealed,
  s.secretSealed,
  JSON.stringify(s.headers),
  s.events,
  s.status,
  s.previousSecretSealed,
  s.secretOverlapUntil,
  s.standardWebhooks,
];
