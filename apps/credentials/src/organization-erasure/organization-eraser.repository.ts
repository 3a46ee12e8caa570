import { Injectable } from '@nestjs/common';
import type { ErasedOrganization, OrganizationEraser } from '@rmm/access';
import type { ErasedCounts } from '@rmm/contracts';
import type { WorkerTransaction } from '@rmm/persistence';

/** In the order of their references; the daily usage of a key goes with the key. */
const TABLES = ['api_key', 'service_principal', 'enrollment_key'] as const;

const deleteFrom = (table: string): string => `
  DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE org_id = :orgId AND partner_id = :partnerId LIMIT :limit)
  RETURNING 1 AS one`;

/** Erases the keys and service principals of an organization. Uses the worker login: there is no caller. */
@Injectable()
export class OrganizationEraserRepository implements OrganizationEraser {
  async eraseBatch(
    tx: WorkerTransaction,
    { orgId, partnerId }: ErasedOrganization,
    limit: number,
  ): Promise<ErasedCounts | null> {
    for (const table of TABLES) {
      const { length } = await tx.query(deleteFrom(table), { orgId, partnerId, limit });
      if (length > 0) return { [table]: length };
    }
    return null;
  }
}
