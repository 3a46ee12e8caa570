import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import {
  AccessSnapshots,
  InvalidAccessToken,
  OrganizationDirectory,
  PermissionDenied,
  type UserCaller,
} from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { hasPermission } from '@rmm/permissions';
import type { KeysetRows } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { Clock, withoutDeadline } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { AuditEntriesRepository } from './audit-entries.repository.js';
import { AUDIT_FILES, type AuditFile } from './audit-file.js';
import { toAuditLogDto, type AuditLogRow } from './audit-log.mapper.js';
import { AuditNamesService } from './audit-names.service.js';
import type { AuditFiltersDto, ExportAuditLogsDto, ListAuditLogsDto } from './dto/audit-filters.dto.js';
import type { AuditLogDto, AuditLogPageDto } from './dto/audit-log.dto.js';

const EXPORT_PERMISSION = 'audit:export';
const EXPORT_PAGE = 500; // entries: about 400 KB of text

/** Lists and exports the audit trail within the caller's access. @see docs/reference/audit.md */
@Injectable()
export class AuditLogsService {
  constructor(
    private readonly repository: AuditEntriesRepository,
    private readonly names: AuditNamesService,
    private readonly directory: OrganizationDirectory,
    private readonly snapshots: AccessSnapshots,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Lists one page, newest first. @throws OrganizationAccessDenied, InvalidCursor */
  async list(caller: UserCaller, { cursor, limit, ...filters }: ListAuditLogsDto): Promise<AuditLogPageDto> {
    await this.assertOrganizationAccess(caller, filters);
    const binding = { caller, list: 'audit-log', filters: { ...filters } };
    const page = { direction: 'desc', limit, cursor } as const;
    const { rows, nextCursor } = await this.repository.search(caller, filters, binding, page);
    const data = await this.names.restore(caller, rows.map(toAuditLogDto));
    return { data, pagination: { nextCursor, limit } };
  }

  /**
   * Exports entries as a file of any length, oldest first, in the memory of one page. The first page is read before the
   * response starts, so that its failure is an error response. A later failure cuts the connection, so that a partial
   * file never looks complete. A client that disconnects stops the reading.
   * @throws OrganizationAccessDenied, RateLimitedError
   */
  async export(caller: UserCaller, { format, ...filters }: ExportAuditLogsDto): Promise<StreamableFile> {
    await this.assertOrganizationAccess(caller, filters);
    await this.limits.hit(this.config.limits.auditExport, caller.userId);
    const resource = { type: 'audit_log', name: 'Audit trail', id: caller.orgId ?? caller.partnerId };
    await this.audit.recordDirect(caller, 'audit.export', resource, { format, filters: { ...filters } });
    const pages = this.pages(caller, filters);
    const first = await pages.next();
    const file = AUDIT_FILES[format];
    const rest = withoutDeadline(pages);
    const text = Readable.from(formatPages(file, first.done ? [] : first.value, rest), { highWaterMark: 1 });
    return new StreamableFile(text, {
      type: file.mediaType,
      disposition: `attachment; filename="audit-log-${formatFileTime(this.clock.nowMs())}.${format}"`,
    });
  }

  /**
   * Yields all pages, oldest first. Each is read when the one before has been consumed, with the access that the caller
   * has by then.
   * @throws InvalidAccessToken, PermissionDenied when the caller has lost access since the page before
   */
  private async *pages(caller: UserCaller, filters: AuditFiltersDto): AsyncGenerator<AuditLogDto[]> {
    const binding = { caller, list: 'audit-export', filters: {} };
    let current = caller;
    let cursor: string | null = null;
    for (;;) {
      const page: KeysetRows<AuditLogRow> = await this.repository.search(current, filters, binding, {
        direction: 'asc',
        limit: EXPORT_PAGE,
        cursor,
      });
      yield await this.names.restore(current, page.rows.map(toAuditLogDto));
      cursor = page.nextCursor;
      if (cursor === null) return;
      current = await this.revalidate(caller);
    }
  }

  /**
   * Returns the caller with its current access.
   * @throws InvalidAccessToken when its session or membership has ended; PermissionDenied; UnavailableError
   */
  private async revalidate(caller: UserCaller): Promise<UserCaller> {
    const current = await this.snapshots.findCaller(caller);
    if (!current) throw new InvalidAccessToken();
    if (!hasPermission(current.permissions, EXPORT_PERMISSION)) throw new PermissionDenied([EXPORT_PERMISSION]);
    return current;
  }

  /** @throws OrganizationAccessDenied for an organization in the filters that the caller may not access */
  private async assertOrganizationAccess(caller: UserCaller, { orgId }: AuditFiltersDto): Promise<void> {
    if (orgId !== undefined) await this.directory.assertOrganizationAccess(caller, orgId);
  }
}

async function* formatPages(file: AuditFile, first: AuditLogDto[], rest: AsyncGenerator<AuditLogDto[]>) {
  yield file.header + file.format(first);
  for await (const page of rest) yield file.format(page);
}

/** Formats a time for file names: `20261121T090000Z`, without characters that need quotes. */
const formatFileTime = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
