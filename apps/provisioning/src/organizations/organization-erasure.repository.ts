import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor, type WorkerTransaction } from '@rmm/persistence';
import type { OrganizationStateRow } from './organization.events.js';
import { RESTORE_DAYS } from './organizations.repository.js';

/** The name of the row that remains. */
export const ERASED_NAME = 'Erased organization';

/** An organization whose records are being erased. */
export interface Erasure {
  orgId: string;
  partnerId: string;
  /** The number of erased records by table. */
  erased: Record<string, number>;
}

/**
 * The tables whose rows are deleted in batches, in the order of their references. States, reports and group memberships go
 * with their devices and groups.
 */
const TABLES = ['device', 'device_group', 'site'] as const;

const STATE = `o.id, o.partner_id AS "partnerId", o.name, o.slug, o.status, o.deleted_at AS "deletedAt", o.version`;

/** Row locks keep an organization that is being restored; `restore` finds the erased one no more. */
const START = `
  WITH due AS (
    SELECT id FROM organization
     WHERE deleted_at <= now() - interval '${RESTORE_DAYS} days' AND erased_at IS NULL
     ORDER BY deleted_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE organization o
     SET erased_at = now(), name = '${ERASED_NAME}', name_key = lower('${ERASED_NAME}'), slug = o.id::text,
         settings = '{}', contract_start = NULL, contract_end = NULL, billing_contact = NULL, version = o.version + 1
    FROM due WHERE o.id = due.id
  RETURNING ${STATE}`;

/** The few rows that would let an import find the organization go at once. */
const ENQUEUE = `
  WITH links AS (DELETE FROM external_link WHERE org_id = ANY (:orgIds::uuid[])),
       policies AS (DELETE FROM organization_security WHERE org_id = ANY (:orgIds::uuid[]))
  INSERT INTO organization_erasure (org_id, partner_id)
  SELECT id, partner_id FROM organization WHERE id = ANY (:orgIds::uuid[])`;

const CLAIM = `
  SELECT org_id AS "orgId", partner_id AS "partnerId", erased FROM organization_erasure
   ORDER BY started_at, org_id LIMIT 1 FOR UPDATE SKIP LOCKED`;

/** Erases the records of deleted organizations. Uses the worker login, across tenants: there is no caller. */
@Injectable()
export class OrganizationErasureRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Runs one step in a transaction. */
  transaction<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    return this.worker.transaction(work);
  }

  /** Begins with the organizations that can no longer be restored. @returns their state, without data of the customer */
  async start(tx: SqlExecutor, limit: number): Promise<OrganizationStateRow[]> {
    const organizations = await tx.query<OrganizationStateRow>(START, { limit });
    if (organizations.length > 0) await tx.query(ENQUEUE, { orgIds: organizations.map(({ id }) => id) });
    return organizations;
  }

  /** Locks the oldest erasure that no other replica works on; null when there is none. */
  async claim(tx: SqlExecutor): Promise<Erasure | null> {
    const [erasure] = await tx.query<Erasure>(CLAIM);
    return erasure ?? null;
  }

  /** Deletes up to a number of records. @returns false when none was left */
  async eraseBatch(tx: SqlExecutor, { orgId, erased }: Erasure, limit: number): Promise<boolean> {
    for (const table of TABLES) {
      const rows = await tx.query(
        `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE org_id = :orgId LIMIT :limit) RETURNING 1 AS one`,
        { orgId, limit },
      );
      if (rows.length === 0) continue;
      const counts = { ...erased, [table]: (erased[table] ?? 0) + rows.length };
      await tx.query('UPDATE organization_erasure SET erased = :counts WHERE org_id = :orgId', {
        orgId,
        counts: JSON.stringify(counts),
      });
      return true;
    }
    return false;
  }

  async finish(tx: SqlExecutor, { orgId }: Erasure): Promise<void> {
    await tx.query('DELETE FROM organization_erasure WHERE org_id = :orgId', { orgId });
  }
}
