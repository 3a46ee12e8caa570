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

  async findHead(db: SqlExecutor, chain: string): Promise<(AuditHead & { timestamp: Date }) | null> {
    const [head] = await db.query<{ sequence: string; checksum: string; timestamp: Date }>(
      'select sequence, checksum, sealed_at as timestamp from audit_head where chain = $1',
      [chain],
    );
    return head ? { ...head, sequence: Number(head.sequence) } : null;
  }

  /** A stretch of one chain in order, `after` exclusive. */
  async listChain(
    db: SqlExecutor,
    chain: string,
    after: number,
    range: { from?: Date; to?: Date },
    limit: number,
  ): Promise<SealedAuditRow[]> {
    const rows = await db.query<StoredRow>(
      `select ${SELECTED} from audit_entry
       where partner_id is not distinct from $1::uuid and sequence > $2
         and ($3::timestamptz is null or timestamp >= $3) and ($4::timestamptz is null or timestamp < $4)
       order by sequence limit $5`,
      [chain === PLATFORM_CHAIN ? null : chain, after, range.from ?? null, range.to ?? null, limit],
    );
    return rows.map((row) => ({ ...row, sequence: Number(row.sequence), timestamp: row.timestamp.toISOString() }));
  }
}
