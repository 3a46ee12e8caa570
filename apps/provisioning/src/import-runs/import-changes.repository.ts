import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, TenantDatabase } from '@rmm/persistence';
import type { ImportChangeDto } from './dto/import-change.dto.js';
import type { JournalScope } from './journal/import-change.types.js';

/** Reads the journals of runs for their lists. */
@Injectable()
export class ImportChangesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the changes after a sequence number, of the organizations that the caller can access. */
  list(
    caller: Caller,
    { runId, partnerId }: JournalScope,
    { after, limit, outcome = null }: { after: string; limit: number; outcome?: string | null },
  ): Promise<(ImportChangeDto & { seq: string })[]> {
    const tenant = tenantCondition(caller, 'organization', 'c');
    return this.tenants.read(
      caller,
      `SELECT c.seq, c.resource, c.action, c.record_id AS "recordId", c.org_id AS "organizationId", c.outcome, c.reason
         FROM import_change c
        WHERE ${tenant.sql} AND c.run_id = :runId AND c.partner_id = :partnerId AND c.seq > :after::bigint
          AND (:outcome::text IS NULL OR c.outcome = :outcome)
        ORDER BY c.seq LIMIT :limit`,
      { ...tenant.params, runId, partnerId, after, limit, outcome },
    );
  }
}
