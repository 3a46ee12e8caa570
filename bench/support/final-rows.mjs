// The least that makes a delivery durable: its final row, inserted in sets, with the two indexes that the history is read by.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const pg = createRequire(import.meta.url)('pg');
const SET = 500;
const FLUSH_MS = 20;
const WEBHOOKS = Array.from({ length: 100 }, () => randomUUID());
const [ORG_ID, PARTNER_ID] = [randomUUID(), randomUUID()];

const TABLE = `
  create schema if not exists floor;
  create table if not exists floor.delivery (
    id uuid primary key, created_at timestamptz not null default now(), partner_id uuid not null, org_id uuid not null,
    webhook_id uuid not null, event_type text not null, event_id text not null, status text not null, attempt int not null,
    response_status int, response_body text, response_time_ms int, delivered_at timestamptz);
  create index if not exists delivery_by_webhook on floor.delivery (webhook_id, created_at desc)`;
const INSERT = `
  insert into floor.delivery (id, partner_id, org_id, webhook_id, event_type, event_id, status, attempt, response_status,
                              response_body, response_time_ms, delivered_at)
  select id, '${PARTNER_ID}', '${ORG_ID}', webhook_id, 'device.enrolled', event_id, 'delivered', 1, response_status, 'ok',
         response_time_ms, now()
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[])
      as o(id, webhook_id, event_id, response_status, response_time_ms)`;

export class FinalRows {
  static pools = new Map();
  waiting = [];
  writing = Promise.resolve();
  timer;

  /** Opens the table once per database. */
  static async open(databaseUrl) {
    let pool = FinalRows.pools.get(databaseUrl);
    if (!pool) {
      FinalRows.pools.set(databaseUrl, (pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })));
      await pool.query(TABLE);
    }
    return Object.assign(new FinalRows(), { pool });
  }

  add(row) {
    this.waiting.push(row);
    if (this.waiting.length >= SET) this.write();
    else this.timer ??= setTimeout(() => this.write(), FLUSH_MS);
  }

  /** Resolves when every row is stored. */
  async flush() {
    this.write();
    await this.writing;
  }

  write() {
    clearTimeout(this.timer);
    this.timer = undefined;
    const set = this.waiting.splice(0);
    if (set.length === 0) return;
    const values = [
      set.map(({ id }) => id),
      set.map(({ n }) => WEBHOOKS[n % WEBHOOKS.length]),
      set.map(({ eventId }) => eventId),
      set.map(({ status }) => status),
      set.map(({ ms }) => Math.round(ms)),
    ];
    this.writing = Promise.all([this.writing, this.pool.query({ name: 'insert', text: INSERT, values })]);
  }
}
