import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const MAX_PAUSE_MS = 4;
/** Pauses between transactions: an export waits for a moment without one. */
const MAX_IDLE_MS = 40;
const DEADLOCK = '40P01';

/** A position among ids: random ids are spread evenly. */
const AFTER = `partner_id = $1 AND id > $2 AND decommissioned_at IS NULL ORDER BY id`;
const RENAME = `UPDATE device SET hostname = 'renamed-' || gen_random_uuid() WHERE id IN (
  SELECT id FROM device WHERE ${AFTER} LIMIT 5 FOR UPDATE)`;
const DECOMMISSION = `UPDATE device SET decommissioned_at = clock_timestamp() WHERE id IN (
  SELECT id FROM device WHERE ${AFTER} LIMIT 2 FOR UPDATE)`;
const ADD = `INSERT INTO device (partner_id, org_id, hostname, os_type)
  SELECT $1, $2, 'new-' || n, 'linux' FROM generate_series(1, 3) n`;
const SET_STATUS = 'UPDATE organization SET status = $2 WHERE id = $1';

/**
 * Changes the devices of a partner in transactions of several connections that overlap, some of which are rolled back, and
 * suspends its organizations for a time.
 */
export class ConcurrentDeviceWriters {
  /** The organizations that were suspended at some time. */
  readonly suspended = new Set<string>();
  private ends = false;
  private work: Promise<unknown> = Promise.resolve();
  private pool?: pg.Pool;
  committed = 0;

  constructor(
    private readonly admin: pg.Pool,
    private readonly partnerId: string,
    private readonly orgIds: readonly string[],
    private readonly random: () => number,
  ) {}

  start(writers: number): void {
    this.pool = new pg.Pool({ ...this.admin.options, max: writers });
    const { pool } = this;
    this.work = Promise.all(Array.from({ length: writers }, () => this.writeUntilEnd(pool)));
    this.work.catch(() => undefined); // thrown by stop()
  }

  /** Ends the writes; every transaction has ended then. */
  async stop(): Promise<void> {
    this.ends = true;
    await this.work.finally(() => this.pool?.ended || this.pool?.end());
  }

  async resumeAll(): Promise<void> {
    for (const orgId of this.suspended) await this.admin.query(SET_STATUS, [orgId, 'active']);
  }

  private async writeUntilEnd(pool: pg.Pool): Promise<void> {
    while (!this.ends) {
      const client = await pool.connect();
      try {
        await this.writeOnce(client);
      } catch (error) {
        await client.query('ROLLBACK');
        if ((error as { code?: string }).code !== DEADLOCK) throw error;
      } finally {
        client.release();
      }
      await this.pause(MAX_IDLE_MS);
    }
  }

  private async writeOnce(client: pg.PoolClient): Promise<void> {
    await client.query('BEGIN');
    for (let n = Math.floor(this.random() * 4); n >= 0; n -= 1) {
      await this.changeAtRandom(client);
      await this.pause();
    }
    const isKept = this.random() < 0.85;
    await client.query(isKept ? 'COMMIT' : 'ROLLBACK');
    if (isKept) this.committed += 1;
  }

  private async changeAtRandom(client: pg.PoolClient): Promise<void> {
    const orgId = this.orgIds[Math.floor(this.random() * this.orgIds.length)] ?? '';
    const kind = this.random();
    if (kind < 0.45) await client.query(RENAME, [this.partnerId, randomUUID()]);
    else if (kind < 0.7) await client.query(ADD, [this.partnerId, orgId]);
    else if (kind < 0.88) await client.query(DECOMMISSION, [this.partnerId, randomUUID()]);
    else if (kind < 0.94) await client.query(SET_STATUS, [orgId, 'active']);
    else {
      this.suspended.add(orgId);
      await client.query(SET_STATUS, [orgId, 'suspended']);
    }
  }

  private pause(maxMs = MAX_PAUSE_MS): Promise<void> {
    return sleep(this.random() * maxMs);
  }
}
