import { Injectable } from '@nestjs/common';
import type { ErasedCounts } from '@rmm/contracts';
import { WorkerDatabase, type SqlExecutor, type WorkerTransaction } from '@rmm/persistence';
import type { ErasedOrganization } from './organization-eraser.js';

export interface OrganizationErasure extends ErasedOrganization {
  erased: ErasedCounts;
}

/** A repeated event starts the erasure again: it finds what a restored backup brought back, and reports again. */
const ADD = `
  INSERT INTO organization_erasure (org_id, partner_id) VALUES (:orgId, :partnerId)
  ON CONFLICT (org_id) DO UPDATE SET finished_at = NULL, reported_at = NULL
   WHERE organization_erasure.finished_at IS NOT NULL`;

/** The directory has to say so too: an organization that is not deleted is never erased. */
const CLAIM = `
  SELECT e.org_id AS "orgId", e.partner_id AS "partnerId", e.erased FROM organization_erasure e
    JOIN organization_directory d ON d.org_id = e.org_id AND d.partner_id = e.partner_id
   WHERE e.finished_at IS NULL AND d.deleted AND NOT e.org_id = ANY (:skipped::uuid[])
   ORDER BY e.started_at, e.org_id LIMIT 1 FOR UPDATE OF e SKIP LOCKED`;

const UNREPORTED = `
  SELECT org_id AS "orgId", partner_id AS "partnerId", erased FROM organization_erasure
   WHERE finished_at IS NOT NULL AND reported_at IS NULL ORDER BY finished_at LIMIT :limit`;

/** The erasures of a service. Their rows remain: they say that an organization has been erased. */
@Injectable()
export class OrganizationErasuresRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Runs one step in a transaction. */
  transaction<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    return this.worker.transaction(work);
  }

  async add(tx: SqlExecutor, { orgId, partnerId }: ErasedOrganization): Promise<void> {
    await tx.query(ADD, { orgId, partnerId });
  }

  /** Locks the oldest erasure that no other replica works on; null when there is none. */
  async claim(tx: SqlExecutor, skipped: readonly string[]): Promise<OrganizationErasure | null> {
    const [erasure] = await tx.query<OrganizationErasure>(CLAIM, { skipped });
    return erasure ?? null;
  }

  async saveCounts(tx: SqlExecutor, { orgId, erased }: OrganizationErasure): Promise<void> {
    const counts = JSON.stringify(erased);
    await tx.query('UPDATE organization_erasure SET erased = :counts WHERE org_id = :orgId', { orgId, counts });
  }

  async finish(tx: SqlExecutor, { orgId }: ErasedOrganization): Promise<void> {
    await tx.query('UPDATE organization_erasure SET finished_at = now() WHERE org_id = :orgId', { orgId });
  }

  listUnreported(limit: number): Promise<OrganizationErasure[]> {
    return this.worker.query<OrganizationErasure>(UNREPORTED, { limit });
  }

  async markReported({ orgId }: ErasedOrganization): Promise<void> {
    await this.worker.query(
      'UPDATE organization_erasure SET reported_at = now() WHERE org_id = :orgId AND finished_at IS NOT NULL',
      { orgId },
    );
  }
}
