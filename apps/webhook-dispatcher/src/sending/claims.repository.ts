import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { InstanceLeaseService } from './instance-lease.service.js';
import type { ReleasedDelivery } from './lease-release.service.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';

/** The key of a delivery row. */
export interface DeliveryKey {
  id: string;
  createdAt: Date;
}

/** A delivery that the table shows as leased by this instance. */
export interface LeasedRow extends DeliveryKey {
  /** Attempts made so far. */
  attempt: number;
}

interface ClaimedRow {
  id: string;
  created_at: Date;
  webhook_id: string;
  org_id: string;
  event_id: string;
  event_type: string;
  attempt: number;
  body: string | null;
}

/** Open deliveries are never older, so queries skip the partitions of the history before. */
export const OPEN_DAYS = 9;

/** @param picked  a query of (id, created_at) that locks what it selects and skips what others have locked */
const claim = (picked: string) => `
  WITH picked AS (${picked}), taken AS (
    UPDATE delivery d SET lease_owner = $1 FROM picked p WHERE d.id = p.id AND d.created_at = p.created_at
    RETURNING d.id, d.created_at, d.webhook_id, d.org_id, d.event_id, d.event_type, d.attempt, d.due_at
  )
  SELECT t.*, b.body FROM taken t
    LEFT JOIN event_body b ON b.event_id = t.event_id AND b.org_id = t.org_id AND b.created_at = t.created_at
   ORDER BY t.due_at, t.id`;

const OPEN = `d.status IN ('pending', 'retrying')`;
const WAITING = `d.lease_owner IS NULL AND ${OPEN}`;
const YOUNG = `d.created_at > now() - INTERVAL '${OPEN_DAYS} days'`;
/** Deliveries of the shards this instance owns; null means all shards. */
const ours = (parameter: string) => `(${parameter}::smallint[] IS NULL OR d.shard = ANY(${parameter}::smallint[]))`;

/** Selects by key; `coalesce` keeps the planner from using the index over due deliveries. */
const CLAIM_KEYS = claim(`
  SELECT d.id, d.created_at
    FROM unnest($2::uuid[], $3::timestamptz[]) AS k(id, created_at)
    JOIN delivery d ON d.id = k.id AND d.created_at = k.created_at
   WHERE coalesce(d.lease_owner, d.id) = d.id AND ${OPEN} AND d.due_at <= now() AND ${ours('$4')}
     FOR UPDATE OF d SKIP LOCKED`);

/** Each status has its own index, so a burst of retries does not delay first attempts. */
const claimDue = (status: 'pending' | 'retrying') =>
  claim(`
  SELECT d.id, d.created_at FROM delivery d
   WHERE d.lease_owner IS NULL AND d.status = '${status}' AND ${YOUNG} AND ${ours('$4')}
     AND d.due_at <= now() - $3 * INTERVAL '1 millisecond'
   ORDER BY d.due_at LIMIT $2
     FOR UPDATE SKIP LOCKED`);
const CLAIM_DUE = { pending: claimDue('pending'), retrying: claimDue('retrying') };

/** With `org_id = $2` the planner would not use the index over the backlog. */
const CLAIM_BACKLOG = claim(`
  SELECT d.id, d.created_at FROM delivery d
   WHERE d.lease_owner = d.org_id AND d.org_id >= $2 AND d.org_id <= $2 AND ${OPEN} AND ${YOUNG} AND ${ours('$4')}
   ORDER BY d.org_id, d.due_at LIMIT $3
     FOR UPDATE SKIP LOCKED`);

/** Reads one index entry per organization, however many deliveries each has. */
const BACKLOG_ORGANIZATIONS = `
  WITH RECURSIVE backlog AS (
    (SELECT org_id FROM delivery WHERE lease_owner = org_id ORDER BY org_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.org_id FROM delivery d WHERE d.lease_owner = d.org_id AND d.org_id > p.org_id
             ORDER BY d.org_id LIMIT 1)
      FROM backlog p WHERE p.org_id IS NOT NULL
  )
  SELECT org_id AS "orgId" FROM backlog WHERE org_id IS NOT NULL`;

/** Bounds the cost of counting; an autoscaler needs no larger number. */
const MAX_COUNTED = 100_000;
const WAITING_NOW = `
  SELECT count(*)::int AS waiting FROM (
    (SELECT FROM delivery d WHERE ${WAITING} AND ${YOUNG} AND d.due_at <= now() LIMIT ${MAX_COUNTED})
    UNION ALL
    (SELECT FROM delivery d WHERE d.lease_owner = d.org_id AND ${OPEN} AND ${YOUNG} LIMIT ${MAX_COUNTED})
  ) AS either`;

/** Leases deliveries to this instance and releases leases; all statements lock and skip what others have locked. */
@Injectable()
export class ClaimsRepository {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly lease: InstanceLeaseService,
    private readonly shards: ShardOwnershipService,
  ) {}

  /** Claims those of the given deliveries that are due and not leased. */
  async claim(keys: readonly DeliveryKey[]): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_KEYS, [
      owner,
      keys.map(({ id }) => id),
      keys.map(({ createdAt }) => createdAt.toISOString()),
      this.shards.filter,
    ]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /**
   * Claims what is due, oldest first.
   * @param overdueMs  how long after its due time a delivery is claimed, so that its job in Redis can claim it before
   */
  async claimDue(status: 'pending' | 'retrying', limit: number, overdueMs = 0): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_DUE[status], [owner, limit, overdueMs, this.shards.filter]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /** Claims the backlog of an organization, oldest first. */
  async claimBacklog(orgId: string, limit: number): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_BACKLOG, [owner, orgId, limit, this.shards.filter]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /** Lists the organizations with a backlog. */
  async listBacklogOrganizations(): Promise<string[]> {
    const rows = await this.worker.query<{ orgId: string }>(BACKLOG_ORGANIZATIONS);
    return rows.map(({ orgId }) => orgId);
  }

  /** Counts the deliveries of all shards that are due and not leased, or in a backlog; at most 200,000. */
  async countWaiting(): Promise<number> {
    const [row] = await this.worker.query<{ waiting: number }>(WAITING_NOW);
    return row?.waiting ?? 0;
  }

  /** Releases deliveries that have not started. */
  async releaseLeases(returned: readonly ReleasedDelivery[]): Promise<void> {
    await this.worker.query(
      `UPDATE delivery d
          SET lease_owner = CASE WHEN k.is_in_backlog THEN d.org_id END, shard = coalesce(k.shard, d.shard)
         FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::smallint[], $5::bool[])
           AS k(id, created_at, owner, shard, is_in_backlog)
        WHERE d.id = k.id AND d.created_at = k.created_at AND d.lease_owner = k.owner`,
      [
        returned.map(({ delivery }) => delivery.id),
        returned.map(({ delivery }) => delivery.createdAt.toISOString()),
        returned.map(({ delivery }) => delivery.owner),
        returned.map(({ shard }) => shard),
        returned.map(({ isInBacklog }) => isInBacklog),
      ],
    );
  }

  /** Lists what the table shows as leased by this instance. */
  listLeased(): Promise<LeasedRow[]> {
    return this.worker.query<LeasedRow>(
      `SELECT id, created_at AS "createdAt", attempt FROM delivery d WHERE d.lease_owner = $1 AND ${YOUNG}`,
      [this.lease.owner],
    );
  }

  /**
   * Releases leases of this instance that have not changed since they were listed.
   * @returns how many
   */
  async reclaimOrphans(rows: readonly LeasedRow[]): Promise<number> {
    const freed = await this.worker.query(
      `UPDATE delivery d SET lease_owner = NULL, due_at = least(d.due_at, now())
         FROM unnest($2::uuid[], $3::timestamptz[], $4::int[]) AS k(id, created_at, attempt)
        WHERE d.id = k.id AND d.created_at = k.created_at AND d.attempt = k.attempt AND d.lease_owner = $1
        RETURNING d.id`,
      [
        this.lease.owner,
        rows.map(({ id }) => id),
        rows.map(({ createdAt }) => createdAt.toISOString()),
        rows.map(({ attempt }) => attempt),
      ],
    );
    return freed.length;
  }

  /**
   * Releases the deliveries of instances that stopped renewing.
   * @returns how many deliveries may be claimed again
   */
  async reclaimExpiredLeases(): Promise<number> {
    await this.worker.query('DELETE FROM dispatcher_instance WHERE lease_until < now() AND id <> $1', [
      this.lease.owner,
    ]);
    const freed = await this.worker.query(
      `UPDATE delivery d SET lease_owner = NULL, due_at = least(d.due_at, now())
        WHERE d.lease_owner IS NOT NULL AND ${YOUNG} AND d.lease_owner <> d.org_id
          AND NOT EXISTS (SELECT FROM dispatcher_instance i WHERE i.id = d.lease_owner)
        RETURNING d.id`,
    );
    return freed.length;
  }
}

const toLeasedDelivery = (row: ClaimedRow, owner: string): LeasedDelivery => ({
  id: row.id,
  createdAt: row.created_at,
  webhookId: row.webhook_id,
  orgId: row.org_id,
  eventId: row.event_id,
  eventType: row.event_type,
  body: row.body,
  attempt: row.attempt,
  owner,
});
