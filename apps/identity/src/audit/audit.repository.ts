import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { EMPTY_CHAIN, type AuditHead, type SealedAuditRow } from './audit-chain.js';

/** The chain of acts that belong to no partner. */
export const PLATFORM_CHAIN = 'platform';

const COLUMNS = `id, sequence, partner_id, org_id, timestamp, actor_type, actor_id, actor_email, action, resource_type,
  resource_id, resource_name, details, ip_address, user_agent, result, error_message, initiated_by, request_id,
  canonical, checksum, previous_checksum`;

const TYPED = `id uuid, sequence bigint, "partnerId" uuid, "orgId" uuid, timestamp timestamptz, "actorType" text,
  "actorId" text, "actorEmail" text, action text, "resourceType" text, "resourceId" text, "resourceName" text,
  details jsonb, "ipAddress" text, "userAgent" text, result text, "errorMessage" text, "initiatedBy" text,
  "requestId" text, canonical text, checksum text, "previousChecksum" text`;

const SELECTED = `id, sequence, partner_id as "partnerId", org_id as "orgId", timestamp, actor_type as "actorType",
  actor_id as "actorId", actor_email as "actorEmail", action, resource_type as "resourceType",
  resource_id as "resourceId", resource_name as "resourceName", details, ip_address as "ipAddress",
  user_agent as "userAgent", result, error_message as "errorMessage", initiated_by as "initiatedBy",
  request_id as "requestId", canonical, checksum, previous_checksum as "previousChecksum"`;

export interface TimeRange {
  from?: Date;
  /** Exclusive. */
  to?: Date;
}

export interface ChainPlace {
  sequence: number;
  /** Of the row there. */
  id: string;
}

/** Where a chain stands, and which part of it a range of time covers. Null where there is none. */
export interface ChainEnds {
  head: (AuditHead & { timestamp: Date }) | null;
  first: number | null;
  last: number | null;
  /** The highest sequence of any row. */
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

/** The rows of the audit trail and the heads of its chains, under the worker login. */
@Injectable()
export class AuditRepository {
  /** Locks the heads of chains in one order, so that two batches never wait for each other in a circle. */
  async lockHeads(tx: SqlExecutor, chains: readonly string[]): Promise<Map<string, AuditHead>> {
    const sorted = [...new Set(chains)].sort();
    await tx.query(
      `insert into audit_head (chain, partner_id, sequence, checksum)
       select n.chain, case when n.chain = '${PLATFORM_CHAIN}' then null else n.chain::uuid end, 0, $2
       from unnest($1::text[]) as n(chain) order by n.chain on conflict (chain) do nothing`,
      [sorted, EMPTY_CHAIN.checksum],
    );
    const heads = await tx.query<{ chain: string; sequence: string; checksum: string }>(
      'select chain, sequence, checksum from audit_head where chain = any($1) order by chain for update',
      [sorted],
    );
    return new Map(heads.map(({ chain, sequence, checksum }) => [chain, { sequence: Number(sequence), checksum }]));
  }

  async moveHeads(tx: SqlExecutor, heads: ReadonlyMap<string, AuditHead>): Promise<void> {
    const entries = [...heads];
    await tx.query(
      `update audit_head h set sequence = n.sequence, checksum = n.checksum, sealed_at = now()
       from unnest($1::text[], $2::bigint[], $3::text[]) as n(chain, sequence, checksum) where h.chain = n.chain`,
      [entries.map(([chain]) => chain), entries.map(([, h]) => h.sequence), entries.map(([, h]) => h.checksum)],
    );
  }

  /** Which of these rows stand already; ids alone would search every partition. */
  async existing(tx: SqlExecutor, rows: readonly { id: string; timestamp: string }[]): Promise<Set<string>> {
    const found = await tx.query<{ id: string }>(
      `select a.id from unnest($1::uuid[], $2::timestamptz[]) as n(id, at)
       join audit_entry a on a.id = n.id and a.timestamp = n.at`,
      [rows.map((row) => row.id), rows.map((row) => row.timestamp)],
    );
    return new Set(found.map(({ id }) => id));
  }

  /** Any number of rows in one statement. */
  async insert(tx: SqlExecutor, rows: readonly SealedAuditRow[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(`insert into audit_entry (${COLUMNS}) select * from json_to_recordset($1::json) as r(${TYPED})`, [
      JSON.stringify(rows),
    ]);
  }

  /** Head and ends of a chain in one statement: what was sealed after the one is not in the other. */
  async findEnds(db: SqlExecutor, chain: string, range: TimeRange): Promise<ChainEnds> {
    const { condition, partnerId } = ownerOf(chain);
    const [ends] = await db.query<StoredEnds>(
      `select h.sequence, h.checksum, h.sealed_at as timestamp, r.first, r.last,
         (select max(sequence) from audit_entry where ${condition}) as latest
       from (values ($2::text)) as c(chain) left join audit_head h using (chain)
       cross join (
         select min(sequence) as first, max(sequence) as last from audit_entry
         where ${condition} and timestamp >= coalesce($3::timestamptz, '-infinity')
           and timestamp < coalesce($4::timestamptz, 'infinity')
       ) r`,
      [partnerId, chain, range.from ?? null, range.to ?? null],
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

  /** Rows of one chain in their order: beyond a place (and a row in it), up to another. */
  async listChain(
    db: SqlExecutor,
    chain: string,
    beyond: ChainPlace,
    upTo: number,
    limit: number,
  ): Promise<SealedAuditRow[]> {
    const { condition, partnerId } = ownerOf(chain);
    const rows = await db.query<StoredRow>(
      `select ${SELECTED} from audit_entry
       where ${condition} and (sequence, id) > ($2, $3::uuid) and sequence <= $4
       order by sequence, id limit $5`,
      [partnerId, beyond.sequence, beyond.id, upTo, limit],
    );
    return rows.map((row) => ({ ...row, sequence: Number(row.sequence), timestamp: row.timestamp.toISOString() }));
  }
}

/** Whose rows a chain has: a condition that an index serves, and the parameter $1 that it binds. */
const ownerOf = (chain: string): { condition: string; partnerId: string | null } =>
  chain === PLATFORM_CHAIN
    ? { condition: 'partner_id is null and $1::uuid is null', partnerId: null }
    : { condition: 'partner_id = $1::uuid', partnerId: chain };
