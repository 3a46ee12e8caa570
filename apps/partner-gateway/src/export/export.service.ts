import { Injectable } from '@nestjs/common';
import { DenialAuditService, OrganizationDirectory, type PartnerKeyCaller, toActingCaller } from '@rmm/access';
import type { ExportedBase } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { currentContext, ForbiddenError, Logger } from '@rmm/service-kit';
import { waitForAudit } from '../wait-for-audit.js';
import { type ExportQuery, readExportQuery } from './dto/export-query.dto.js';
import { ExportCursorsService, type ExportScope } from './export-cursors.service.js';
import type { ExportResource, SerializedRecord } from './export-record.mapper.js';
import { InvalidExportPagination } from './export.errors.js';
import { PageRecordsService } from './page-records.service.js';
import type { WithheldRecord } from './withholding/withheld-record.js';

/** One page; `hasMore` is true exactly when there is a `nextCursor`. */
export interface ExportPage {
  schemaVersion: '1';
  snapshotAt: string;
  data: SerializedRecord[];
  /** The withheld records of the page; absent when there are none. */
  blocked?: WithheldRecord[];
  nextCursor: string | null;
  hasMore: boolean;
}

/** Reads the data of a partner page by page from the service that owns it. */
@Injectable()
export class ExportService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly cursors: ExportCursorsService,
    private readonly records: PageRecordsService,
    private readonly organizations: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly denials: DenialAuditService,
    private readonly logger: Logger,
  ) {}

  /**
   * Reads one page and records it in the audit log.
   * @throws InvalidExportQuery, InvalidExportPagination, InvalidExportCursor 400; OrganizationAccessDenied 403 for an
   * organization that is unknown, inactive or another partner's; UnavailableError when the owner cannot be reached
   */
  async getPage<T>(
    caller: PartnerKeyCaller,
    resource: ExportResource<T>,
    rawQuery: Readonly<Record<string, unknown>>,
  ): Promise<ExportPage> {
    const query = readExportQuery(rawQuery, resource);
    const scope: ExportScope = {
      resource: resource.name,
      partnerId: caller.partnerId,
      orgId: query.orgId,
      ...(query.siteId !== null && { siteId: query.siteId }),
      updatedSince: query.updatedSince,
    };
    const page = await this.readPage(caller, resource, scope, query).catch((error: unknown) => {
      if (error instanceof ForbiddenError) this.recordDenied(caller, resource.name, error);
      throw error;
    });
    await this.recordRead(caller, scope, page);
    return page;
  }

  private async readPage<T>(
    caller: PartnerKeyCaller,
    resource: ExportResource<T>,
    scope: ExportScope,
    { cursor, limit }: ExportQuery,
  ): Promise<ExportPage> {
    const position = cursor === null ? null : this.cursors.decode(cursor, scope);
    const { orgId, siteId, updatedSince } = scope;
    if (orgId !== null) await this.organizations.assertOrganizationAccess(caller, orgId);
    const reply = await this.rpc.call(resource.contract, {
      caller: toActingCaller(caller),
      orgId,
      ...(siteId && { siteId }),
      updatedSince,
      snapshotAt: position?.snapshotAt ?? null,
      after: position?.after ?? null,
      limit,
    });
    const { snapshotAt, records, hasMore } = reply;
    // The consumer sends the snapshot of an earlier export: only the clock that took it decides which times lie in the future.
    if (updatedSince !== null && Date.parse(updatedSince) > Date.parse(snapshotAt)) {
      throw new InvalidExportPagination('updatedSince must not lie in the future');
    }
    if (hasMore && records.length === 0) throw new Error(`An empty page of ${resource.name} has hasMore set`);
    const { data, blocked, count } = await this.records.select(resource, records);
    const last = hasMore || count < records.length ? records[count - 1] : undefined;
    return {
      schemaVersion: '1',
      snapshotAt,
      data,
      ...(blocked.length > 0 && { blocked }),
      nextCursor: last ? this.cursors.encode(scope, { snapshotAt, after: positionOf(last) }) : null,
      hasMore: last !== undefined,
    };
  }

  private recordRead(
    caller: PartnerKeyCaller,
    { resource, orgId, siteId, updatedSince }: ExportScope,
    { data, blocked = [] }: ExportPage,
  ): Promise<void> {
    const target = { type: 'partner_export', name: resource, orgId };
    const counts = { count: data.length, ...(blocked.length > 0 && { withheld: blocked.length }) };
    const filters = { orgId, ...(siteId && { siteId }), updatedSince };
    const details = { resource, filters, ...counts, keyId: caller.keyId };
    return waitForAudit(this.audit.recordDirect(caller, 'partner_api.export', target, details), this.logger);
  }

  /**
   * Records a denial; repeats are aggregated. Leaves the filters out: a denied request may name another partner's
   * organization.
   */
  private recordDenied(caller: PartnerKeyCaller, resource: string, { code }: ForbiddenError): void {
    const details = { resource, keyId: caller.keyId };
    this.denials.record({ caller, action: 'partner_api.export', code, route: `GET /partner-api/${resource}`, details });
    const context = currentContext();
    if (context) context.audited = true;
  }
}

function positionOf({ id, orgId, sourceUpdatedAt, changedAt }: ExportedBase) {
  return { id, orgId, updatedAt: changedAt ?? sourceUpdatedAt };
}
