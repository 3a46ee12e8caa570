import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { LeasedDelivery } from './leased-delivery.js';
import { InstanceLeaseService } from './instance-lease.service.js';
import type { ReleasedDelivery } from './lease-release.service.js';
import { ShardOwnershipService } from './shards/shard-ownership.service.js';

/** The key of a delivery row. */
export interface DeliveryKey {
  id: string;
  createdAt: Date;
}

/** A delivery that stands as held by this process. */
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

/** No delivery that has not ended is older than this: spares looking into every partition of the history. */
export const OPEN_DAYS = 9;

/** @param picked  a query of (id, created_at), locking what it picks and skipping what others hold */
const claim = (picked: string) => `
  with picked as (${picked}), taken as (
    update delivery d set lease_owner = $1 from picked p where d.id = p.id and d.created_at = p.created_at
    returning d.id, d.created_at, d.webhook_id, d.org_id, d.event_id, d.event_type, d.attempt, d.due_at
  )
  select t.*, b.body from taken t
    left join event_body b on b.event_id = t.event_id and b.org_id = t.org_id and b.created_at = t.created_at
   order by t.due_at, t.id`;

const OPEN = `d.status in ('pending', 'retrying')`;
const WAITING = `d.lease_owner is null and ${OPEN}`;
const YOUNG = `d.created_at > now() - interval '${OPEN_DAYS} days'`;
/** What is for us to send. Null stands for everything. */
const ours = (parameter: string) => `(${parameter}::smallint[] is null or d.shard = any(${parameter}::smallint[]))`;

/** Each by its key: that nobody holds it is said in a form that the index over what is due does not serve. */
const CLAIM_NAMED = claim(`
  select d.id, d.created_at
    from unnest($2::uuid[], $3::timestamptz[]) as k(id, created_at)
    join delivery d on d.id = k.id and d.created_at = k.created_at
   where coalesce(d.lease_owner, d.id) = d.id and ${OPEN} and d.due_at <= now() and ${ours('$4')}
     for update of d skip locked`);

/** Each state by the index over it: first attempts do not stand behind a storm of retries. */
const claimDue = (status: 'pending' | 'retrying') =>
  claim(`
  select d.id, d.created_at from delivery d
   where d.lease_owner is null and d.status = '${status}' and ${YOUNG} and ${ours('$4')}
     and d.due_at <= now() - $3 * interval '1 millisecond'
   order by d.due_at limit $2
     for update skip locked`);
const CLAIM_DUE = { pending: claimDue('pending'), retrying: claimDue('retrying') };

/** With `org_id = $2` the planner would no longer see that the rows are those of the index over what is parked. */
const CLAIM_BACKLOG = claim(`
  select d.id, d.created_at from delivery d
   where d.lease_owner = d.org_id and d.org_id >= $2 and d.org_id <= $2 and ${OPEN} and ${YOUNG} and ${ours('$4')}
   order by d.org_id, d.due_at limit $3
     for update skip locked`);

/** One look into the index per organization, however many deliveries each has. */
const BACKLOG_ORGANIZATIONS = `
  with recursive parked as (
    (select org_id from delivery where lease_owner = org_id order by org_id limit 1)
    union all
    select (select d.org_id from delivery d where d.lease_owner = d.org_id and d.org_id > p.org_id
             order by d.org_id limit 1)
      from parked p where p.org_id is not null
  )
  select org_id as "orgId" from parked where org_id is not null`;

/** A look of bounded cost, however much waits: an autoscaler knows enough by then. */
const MAX_COUNTED = 100_000;
const WAITING_NOW = `
  select count(*)::int as waiting from (
    (select from delivery d where ${WAITING} and ${YOUNG} and d.due_at <= now() limit ${MAX_COUNTED})
    union all
    (select from delivery d where d.lease_owner = d.org_id and ${OPEN} and ${YOUNG} limit ${MAX_COUNTED})
  ) as either`;

/** Taking deliveries that nobody holds. */
@Injectable()
export class ClaimsRepository {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly lease: InstanceLeaseService,
    private readonly shards: ShardOwnershipService,
  ) {}

  /** Those of the named ones that are due and free. */
  async claim(keys: readonly DeliveryKey[]): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_NAMED, [
      owner,
      keys.map(({ id }) => id),
      keys.map(({ createdAt }) => createdAt.toISOString()),
      this.shards.filter,
    ]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /**
   * What is due, oldest first.
   * @param overdueMs  left alone for so long after its time: the job of a retry in Redis comes first
   */
  async claimDue(status: 'pending' | 'retrying', limit: number, overdueMs = 0): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_DUE[status], [owner, limit, overdueMs, this.shards.filter]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /** What an organization has parked, oldest first. */
  async claimBacklog(orgId: string, limit: number): Promise<LeasedDelivery[]> {
    const { owner } = this.lease;
    const rows = await this.worker.query<ClaimedRow>(CLAIM_BACKLOG, [owner, orgId, limit, this.shards.filter]);
    return rows.map((row) => toLeasedDelivery(row, owner));
  }

  /** Organizations that have something parked. */
  async backlogOrganizations(): Promise<string[]> {
    const rows = await this.worker.query<{ orgId: string }>(BACKLOG_ORGANIZATIONS);
    return rows.map(({ orgId }) => orgId);
  }

  /** How many are due and held by nobody, or parked: for all shards, whoever owns them. */
  async waiting(): Promise<number> {
    const [row] = await this.worker.query<{ waiting: number }>(WAITING_NOW);
    return row?.waiting ?? 0;
  }

  /** Hands some back that are held and not begun. */
  async releaseLeases(returned: readonly ReleasedDelivery[]): Promise<void> {
    await this.worker.query(
      `update delivery d
          set lease_owner = case when k.is_in_backlog then d.org_id end, shard = coalesce(k.shard, d.shard)
         from unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::smallint[], $5::bool[])
           as k(id, created_at, owner, shard, is_in_backlog)
        where d.id = k.id and d.created_at = k.created_at and d.lease_owner = k.owner`,
      [
        returned.map(({ delivery }) => delivery.id),
        returned.map(({ delivery }) => delivery.createdAt.toISOString()),
        returned.map(({ delivery }) => delivery.owner),
        returned.map(({ shard }) => shard),
        returned.map(({ isInBacklog }) => isInBacklog),
      ],
    );
  }

  /** Everything that is leased to this process, by the table. */
  leased(): Promise<LeasedRow[]> {
    return this.worker.query<LeasedRow>(
      `select id, created_at as "createdAt", attempt from delivery d where d.lease_owner = $1 and ${YOUNG}`,
      [this.lease.owner],
    );
  }

  /**
   * Frees what this process holds by the table, as far as it still stands as it did.
   * @returns how many
   */
  async free(rows: readonly LeasedRow[]): Promise<number> {
    const freed = await this.worker.query(
      `update delivery d set lease_owner = null, due_at = least(d.due_at, now())
         from unnest($2::uuid[], $3::timestamptz[], $4::int[]) as k(id, created_at, attempt)
        where d.id = k.id and d.created_at = k.created_at and d.attempt = k.attempt and d.lease_owner = $1
        returning d.id`,
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
   * Frees what processes hold that stopped renewing.
   * @returns how many deliveries may be claimed again
   */
  async reclaimExpiredLeases(): Promise<number> {
    await this.worker.query('delete from dispatcher_instance where lease_until < now() and id <> $1', [
      this.lease.owner,
    ]);
    const freed = await this.worker.query(
      `update delivery d set lease_owner = null, due_at = least(d.due_at, now())
        where d.lease_owner is not null and ${YOUNG} and d.lease_owner <> d.org_id
          and not exists (select from dispatcher_instance i where i.id = d.lease_owner)
        returning d.id`,
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
