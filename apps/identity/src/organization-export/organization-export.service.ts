import { Injectable } from '@nestjs/common';
import { PermissionDenied, toExportPage, type UserCaller } from '@rmm/access';
import type { IdentityExportRequest, OrganizationExportPage } from '@rmm/contracts';
import { hasPermission } from '@rmm/permissions';
import { AccessSourceService } from '../access/access-source.service.js';
import { AuditEntriesRepository } from '../audit/audit-entries.repository.js';
import { toAuditLogDto } from '../audit/audit-log.mapper.js';
import { AuditNamesService } from '../audit/audit-names.service.js';
import { OrganizationExportRepository } from './organization-export.repository.js';

/** Entries of a page; fewer when they are long, so that a page stays below the message limit of NATS. */
const AUDIT_PAGES = [100, 15];
const MAX_BYTES = 800 * 1024;
const AUDIT_EXPORT = 'audit:export';

/** Serves the part of identity in the export of an organization. */
@Injectable()
export class OrganizationExportService {
  constructor(
    private readonly access: AccessSourceService,
    private readonly records: OrganizationExportRepository,
    private readonly entries: AuditEntriesRepository,
    private readonly names: AuditNamesService,
  ) {}

  /**
   * The user is resolved by its session for each page, so that an export ends with the access of the user.
   * @throws InvalidAccessToken, NotFoundError, PermissionDenied, InvalidCursor
   */
  async getPage(request: IdentityExportRequest): Promise<OrganizationExportPage> {
    const { resource } = request;
    const caller = await this.access.getOrganizationEditor(request.caller, request);
    if (resource === 'audit_entry') return this.getAuditPage(caller, request);
    return toExportPage(await this.records.list(caller, request, resource), ({ id }) => id);
  }

  private async getAuditPage(
    caller: UserCaller,
    { orgId, after: cursor }: IdentityExportRequest,
  ): Promise<OrganizationExportPage> {
    if (!hasPermission(caller.permissions, AUDIT_EXPORT)) throw new PermissionDenied([AUDIT_EXPORT]);
    const binding = { caller, list: 'organization-export', filters: { orgId } };
    let page: OrganizationExportPage = { records: [], next: null };
    for (const limit of AUDIT_PAGES) {
      const query = { direction: 'asc', limit, cursor } as const;
      const { rows, nextCursor } = await this.entries.search(caller, { orgId }, binding, query);
      page = { records: await this.names.restore(caller, rows.map(toAuditLogDto)), next: nextCursor };
      if (Buffer.byteLength(JSON.stringify(page)) <= MAX_BYTES) break;
    }
    return page;
  }
}
