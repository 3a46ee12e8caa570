import { Inject, Injectable } from '@nestjs/common';
import { isSiteRestricted, type UserCaller } from '@rmm/access';
import {
  Cursors,
  keysetPage,
  tenantCondition,
  TenantDatabase,
  type CursorBinding,
  type KeysetQuery,
  type KeysetRows,
  type SqlExecutor,
} from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { EMPTY_CHAIN, type AuditHead, type SealedAuditRow } from './audit-chain.js';
import type { AuditHeadRow } from './audit-head.entity.js';
import type { AuditLogRow } from './audit-log.mapper.js';
import type { AuditFiltersDto } from './dto/audit-filters.dto.js';

/** The chain of entries without a partner. */
export const PLATFORM_CHAIN = 'platform';

const COLUMNS = `id, sequence, partner_id, org_id, timestamp, actor_type, actor_id, actor_email, action, resource_type,
  resource_id, resource_name, details, ip_address, user_agent, result, error_message, initiated_by, request_id,
  canonical, checksum, previous_checksum`;

const TYPED = `id uuid, sequence bigint, "partnerId" uuid, "orgId" uuid, timestamp timestamptz, "actorType" text,
  "actorId" text, "actorEmail" text, action text, "resourceType" text, "resourceId" text, "resourceName" text,
  details jsonb, "ipAddress" text, "userAgent" text, result text, "errorMessage" text, "initiatedBy" text,
  "requestId" text, canonical text, checksum text, "previousChecksum" text`;

const LISTED = `id, sequence, partner_id AS "partnerId", org_id AS "orgId", timestamp, actor_type AS "actorType",
  actor_id AS "actorId", actor_email AS "actorEmail", action, resource_type AS "resourceType",
  resource_id AS "resourceId", resource_name AS "resourceName", details, ip_address AS "ipAddress",
  user_agent AS "userAgent", result, error_message AS "errorMessage", initiated_by AS "initiatedBy",
  request_id AS "requestId", checksum, previous_checksum AS "previousChecksum"`;

const SEALED = `${LISTED}, canonical`;

const SORT: KeysetQuery['sort'] = [
  { expression: 'timestamp', type: 'timestamptz' },
  { expression: 'id', type: 'uuid' },
];

/** Each filter applies only when it is set, so that the plan of a statement is made for its own filters. */
const FILTERS = {
  orgId: 'e.org_id = :orgId',
  actorId: 'e.actor_id = :actorId',
  action: 'e.action = :action',
  prefix: 'starts_with(e.action, :prefix)',
  resourceType: 'e.resource_type = :resourceType',
  resourceId: 'e.resource_id = :resourceId',
  result: 'e.result = :result',
  from: 'e.timestamp >= :from',
  to: 'e.timestamp < :to',
} as const;
const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

export interface AuditPageRequest {
  direction: 'asc' | 'desc';
  limit: number;
  cursor?: string | null;
}

export interface TimeRange {
  from?: Date;
  /** Exclusive. */
  to?: Date;
}

export interface ChainPosition {
  sequence: number;
  /** Id of the entry there. */
  id: string;
}

/** The head of a chain, and the part of it that a range of time covers. Null where there is none. */
export interface ChainEnds {
  head: (AuditHead & { timestamp: Date }) | null;
  first: number | null;
  last: number | null;
  /** The highest sequence of any entry. */
  latest: number | null;
}

interface StoredEnds {
  sequence: string | null;
  checksum: string | null;
  timestamp: Date | null;
  first: string | null;
  last: string | null;
  latest: string | null;
}

type StoredRow = Omit<SealedAuditRow, 'sequence' | 'timestamp'> & { sequence: string; timestamp: Date };

/**
 * Audit entries and the heads of their chains. Sealing and verification run under the worker login, searches under that of
 * the caller. SQL, because entries are written in sets, and searched by conditions chosen for the indexes of a partitioned
 * table.
 */
@Injectable()
export class AuditEntriesRepository {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: TenantDatabase,
    @Inject(IDENTITY_CONFIG) config: IdentityConfig,
  ) {
    this.cursors = Cursors.derive(config.secrets.keyRing, 'audit-log');
  }

  /** Lists one page; the cost does not depend on its depth. @throws InvalidCursor */
  search(
    caller: UserCaller,
    filters: AuditFiltersDto,
    binding: CursorBinding,
    page: AuditPageRequest,
  ): Promise<KeysetRows<AuditLogRow>> {
    // Details have up to 40 KB.
    const query: KeysetQuery = { ...auditSearch(caller, filters), ...page, budget: { columns: ['details'] } };
    return keysetPage<AuditLogRow>(this.tenants.reader(caller), this.cursors, binding, query);
  }

  /** Locks the heads of chains, in one order, so that concurrent batches cannot deadlock. */
  async lockHeads(tx: SqlExecutor, chains: readonly string[]): Promise<Map<string, AuditHead>> {
    const sorted = [...new Set(chains)].sort();
    await tx.query(
      `INSERT INTO audit_head (chain, partner_id, sequence, checksum)
       SELECT n.chain, CASE WHEN n.chain = '${PLATFORM_CHAIN}' THEN NULL ELSE n.chain::uuid END, 0, :checksum
       FROM unnest(:chains::text[]) AS n(chain) ORDER BY n.chain ON CONFLICT (chain) DO NOTHING`,
      { chains: sorted, checksum: EMPTY_CHAIN.checksum },
    );
    const heads = await tx.query<Pick<AuditHeadRow, 'chain' | 'sequence' | 'checksum'>>(
      'SELECT chain, sequence, checksum FROM audit_head WHERE chain = ANY (:chains) ORDER BY chain FOR UPDATE',
      { chains: sorted },
    );
    return new Map(heads.map(({ chain, sequence, checksum }) => [chain, { sequence: Number(sequence), checksum }]));
  }

  /** Stores the new heads of chains. */
  async updateHeads(tx: SqlExecutor, heads: ReadonlyMap<string, AuditHead>): Promise<void> {
    const entries = [...heads];
    await tx.query(
      `UPDATE audit_head h SET sequence = n.sequence, checksum = n.checksum, sealed_at = now()
       FROM unnest(:chains::text[], :sequences::bigint[], :checksums::text[]) AS n(chain, sequence, checksum)
       WHERE h.chain = n.chain`,
      {
        chains: entries.map(([chain]) => chain),
        sequences: entries.map(([, head]) => head.sequence),
        checksums: entries.map(([, head]) => head.checksum),
      },
    );
  }

  /** Returns the ids that are stored already. Times are compared too: ids alone would search every partition. */
  async listExistingIds(tx: SqlExecutor, entries: readonly { id: string; timestamp: string }[]): Promise<Set<string>> {
    const found = await tx.query<{ id: string }>(
      `SELECT a.id FROM unnest(:ids::uuid[], :times::timestamptz[]) AS n(id, at)
       JOIN audit_entry a ON a.id = n.id AND a.timestamp = n.at`,
      { ids: entries.map(({ id }) => id), times: entries.map(({ timestamp }) => timestamp) },
    );
    return new Set(found.map(({ id }) => id));
  }

  /** Inserts any number of entries in one statement. */
  async insert(tx: SqlExecutor, entries: readonly SealedAuditRow[]): Promise<void> {
    if (entries.length === 0) return;
    await tx.query(
      `INSERT INTO audit_entry (${COLUMNS}) SELECT * FROM json_to_recordset(:entries::json) AS r(${TYPED})`,
      { entries: JSON.stringify(entries) },
    );
  }

  /** Returns head and ends of a chain, read in one statement so that they belong to the same state. */
  async findEnds(db: SqlExecutor, chain: string, { from = null, to = null }: Nullable<TimeRange>): Promise<ChainEnds> {
    const { condition, partnerId } = ownerOf(chain);
    const [ends] = await db.query<StoredEnds>(
      `SELECT h.sequence, h.checksum, h.sealed_at AS timestamp, r.first, r.last,
         (SELECT max(sequence) FROM audit_entry WHERE ${condition}) AS latest
       FROM (VALUES (:chain::text)) AS c(chain) LEFT JOIN audit_head h USING (chain)
       CROSS JOIN (
         SELECT min(sequence) AS first, max(sequence) AS last FROM audit_entry
         WHERE ${condition} AND timestamp >= coalesce(:from::timestamptz, '-infinity')
           AND timestamp < coalesce(:to::timestamptz, 'infinity')
       ) r`,
      { chain, partnerId, from, to },
    );
    const number = (text?: string | null) => (text ? Number(text) : null);
    const { sequence, checksum, timestamp } = ends ?? {};
    return {
      head: sequence && checksum && timestamp ? { sequence: Number(sequence), checksum, timestamp } : null,
      first: number(ends?.first),
      last: number(ends?.last),
      latest: number(ends?.latest),
    };
  }

  /** Lists entries of a chain in their order, after a position (and an entry there) up to another. */
  async listChain(
    db: SqlExecutor,
    chain: string,
    after: ChainPosition,
    upTo: number,
    limit: number,
  ): Promise<SealedAuditRow[]> {
    const { condition, partnerId } = ownerOf(chain);
    const rows = await db.query<StoredRow>(
      `SELECT ${SEALED} FROM audit_entry
       WHERE ${condition} AND (sequence, id) > (:sequence, :id::uuid) AND sequence <= :upTo
       ORDER BY sequence, id LIMIT :limit`,
      { partnerId, sequence: after.sequence, id: after.id, upTo, limit },
    );
    return rows.map((row) => ({ ...row, sequence: Number(row.sequence), timestamp: row.timestamp.toISOString() }));
  }
}

type Nullable<T> = { [P in keyof T]: T[P] | null };

/** Returns the condition for the entries of a chain, served by an index, and the value of `:partnerId`. */
const ownerOf = (chain: string): { condition: string; partnerId: string | null } =>
  chain === PLATFORM_CHAIN
    ? { condition: 'partner_id IS NULL AND :partnerId::uuid IS NULL', partnerId: null }
    : { condition: 'partner_id = :partnerId::uuid', partnerId: chain };

/**
 * Returns the statement for the filters of a caller. Row-level security limits the result; the caller's tenant is repeated
 * as plain conditions, because no index serves the expression of a policy.
 */
export function auditSearch(
  caller: UserCaller,
  filters: AuditFiltersDto,
): Pick<KeysetQuery, 'select' | 'from' | 'where' | 'params' | 'sort'> {
  const { sql, params: tenant } = tenantCondition(caller, 'organization', 'e');
  const prefix = filters.action?.endsWith('.*') ? filters.action.slice(0, -1) : undefined;
  const values = { ...filters, prefix, action: prefix === undefined ? filters.action : undefined };
  const names = FILTER_NAMES.filter((name) => values[name] !== undefined);
  const conditions = [sql, ...names.map((name) => FILTERS[name])];
  const params: Record<string, unknown> = { ...tenant };
  for (const name of names) params[name] = values[name];
  if (isSiteRestricted(caller)) {
    // Entries name no site, so a caller restricted to sites sees the entries of its own acts.
    conditions.push('e.actor_id = :ownId');
    params.ownId = caller.userId;
  }
  return { select: LISTED, from: 'audit_entry e', where: conditions.join(' AND '), params, sort: SORT };
}
