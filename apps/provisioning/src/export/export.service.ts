import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { tenantOf } from '@rmm/access';
import type { ExportedOrganization, ExportedSite, ExportReply, ExportRequest } from '@rmm/contracts';
import type { HasTenant } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { ExportRepository, ORGANIZATIONS, SITES, type ExportResource } from './export.repository.js';

const SNAPSHOT_ATTEMPTS = 100;
const SNAPSHOT_PAUSE_MS = 20;

/** Exports records page by page, in full or as changes since a time. @see docs/reference/partner-interface.md */
@Injectable()
export class ExportService {
  constructor(private readonly repository: ExportRepository) {}

  listOrganizations(request: ExportRequest): Promise<ExportReply<ExportedOrganization>> {
    return this.list(ORGANIZATIONS, request, ({ name, slug, type, status }: ExportedOrganization) => {
      return { name, slug, type, status };
    });
  }

  listSites(request: ExportRequest): Promise<ExportReply<ExportedSite>> {
    return this.list(SITES, request, ({ name, timezone, address, contact }: ExportedSite) => {
      return { name, timezone, address, contact };
    });
  }

  private async list<T extends object>(
    resource: ExportResource,
    request: ExportRequest,
    toRecord: (row: T) => T,
  ): Promise<ExportReply<T>> {
    const snapshotAt = request.snapshotAt ?? (await this.takeSnapshot(tenantOf(request.caller))).toISOString();
    const rows = await this.repository.list<T>(resource, request, snapshotAt);
    const records = rows.slice(0, request.limit).map((row) => ({
      ...toRecord(row),
      id: row.id,
      orgId: row.orgId,
      siteId: row.siteId,
      sourceUpdatedAt: row.updatedAt.toISOString(),
    }));
    return { snapshotAt, records, hasMore: rows.length > request.limit };
  }

  /**
   * Returns a time up to which every change is committed, and before which none will be stamped any more.
   *
   * A change has the time of its statement but becomes visible at its commit, so the current time would miss a change
   * stamped before it and committed after it, in this export and in every later one. Writers of a partner have a shared
   * lock from their first stamp to their end (trigger `stamp_change`). The exclusive lock is tried, never waited for, so
   * that no writer queues behind an export.
   * @throws UnavailableError  when transactions of the partner overlap without a pause for two seconds
   */
  private async takeSnapshot(caller: HasTenant): Promise<Date> {
    for (let attempt = 0; attempt < SNAPSHOT_ATTEMPTS; attempt += 1) {
      const at = await this.repository.findSnapshotTime(caller);
      if (at) return at;
      await sleep(SNAPSHOT_PAUSE_MS);
    }
    throw new UnavailableError(undefined, { logDetails: { reason: 'no snapshot while the partner is written to' } });
  }
}
