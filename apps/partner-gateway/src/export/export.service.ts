import { Injectable } from '@nestjs/common';
import type { PartnerKeyCaller } from '@rmm/access';
import { OrganizationDirectory } from '@rmm/access';
import { RpcClient } from '@rmm/messaging';
import { Clock, ForbiddenError } from '@rmm/service-kit';
import { ExportAudit } from './export-audit.js';
import { ExportCursors, type Walk } from './export-cursors.js';
import { type ExportQuery, readExportQuery } from './export-query.js';
import { type ExportResource, type RecordBase, toRecord } from './export-resources.js';

/** One page. `hasMore` is true exactly when there is a `nextCursor`. */
export interface ExportPage {
  schemaVersion: '1';
  snapshotAt: string;
  data: RecordBase[];
  nextCursor: string | null;
  hasMore: boolean;
}

/** Walks over what a partner has, page by page, read from its owner. */
@Injectable()
export class ExportService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly cursors: ExportCursors,
    private readonly organizations: OrganizationDirectory,
    private readonly audit: ExportAudit,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws InvalidExportQuery, InvalidExportPagination, InvalidExportCursor 400; OrganizationAccessDenied 403 for an
   * organization that is unknown, not alive or another partner's; UnavailableError when the owner cannot be reached
   */
  async page<T>(
    caller: PartnerKeyCaller,
    resource: ExportResource<T>,
    rawQuery: Readonly<Record<string, unknown>>,
  ): Promise<ExportPage> {
    const query = readExportQuery(rawQuery, resource.defaultLimit, this.clock.now());
    const walk: Walk = {
      resource: resource.name,
      partnerId: caller.partnerId,
      orgId: query.orgId,
      updatedSince: query.updatedSince,
    };
    const page = await this.read(caller, resource, walk, query).catch(async (error: unknown) => {
      if (error instanceof ForbiddenError) await this.audit.denied(caller, resource.name);
      throw error;
    });
    await this.audit.read(caller, walk, page.data.length);
    return page;
  }

  private async read<T>(
    caller: PartnerKeyCaller,
    resource: ExportResource<T>,
    walk: Walk,
    { cursor, limit }: ExportQuery,
  ): Promise<ExportPage> {
    const position = cursor === null ? null : this.cursors.decode(cursor, walk);
    const { partnerId, orgId, updatedSince } = walk;
    if (orgId !== null) await this.organizations.assertOrganizationAccess(caller, orgId);
    const reply = await this.rpc.call(resource.contract, {
      partnerId,
      orgId,
      updatedSince,
      snapshotAt: position?.snapshotAt ?? null,
      after: position?.after ?? null,
      limit,
    });
    const { snapshotAt, records, hasMore } = reply;
    const last = records.at(-1);
    if (hasMore && last === undefined) throw new Error(`An empty page of ${resource.name} says there is more`);
    return {
      schemaVersion: '1',
      snapshotAt,
      data: records.map((record) => toRecord(resource, record)),
      nextCursor: hasMore && last ? this.cursors.encode(walk, { snapshotAt, after: positionOf(last) }) : null,
      hasMore,
    };
  }
}

function positionOf({ id, orgId, sourceUpdatedAt }: { id: string; orgId: string; sourceUpdatedAt: string }) {
  return { id, orgId, updatedAt: sourceUpdatedAt };
}
