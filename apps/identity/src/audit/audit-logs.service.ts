import { Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import type { KeysetRows } from '@rmm/persistence';
import { toAuditLogDto, type AuditLogRow } from './audit-log.mapper.js';
import { AuditLogsRepository } from './audit-logs.repository.js';
import { CallerRevalidator } from './caller-revalidator.service.js';
import type { AuditFiltersDto, ListAuditLogsDto } from './dto/audit-filters.dto.js';
import type { AuditLogDto, AuditLogPageDto } from './dto/audit-log.dto.js';

/** Reads the audit trail within the caller's access. */
@Injectable()
export class AuditLogsService {
  constructor(
    private readonly repository: AuditLogsRepository,
    private readonly directory: OrganizationDirectory,
    private readonly callers: CallerRevalidator,
  ) {}

  /** Lists one page, newest first. @throws OrganizationAccessDenied, InvalidCursor */
  async list(caller: UserCaller, { cursor, limit, ...filters }: ListAuditLogsDto): Promise<AuditLogPageDto> {
    await this.assertOrganizationAccess(caller, filters);
    const binding = { caller, list: 'audit-log', filters: { ...filters } };
    const page = { direction: 'desc', limit, cursor } as const;
    const { rows, nextCursor } = await this.repository.search(caller, filters, binding, page);
    return { data: rows.map(toAuditLogDto), pagination: { nextCursor, limit } };
  }

  /**
   * Yields all pages, oldest first. Each is read when the one before has been consumed, with the access that the caller
   * has by then.
   * @throws InvalidAccessToken, PermissionDenied when the caller has lost access since the page before
   */
  async *pages(caller: UserCaller, filters: AuditFiltersDto, limit: number): AsyncGenerator<AuditLogDto[]> {
    const binding = { caller, list: 'audit-export', filters: {} };
    let current = caller;
    let cursor: string | null = null;
    for (;;) {
      const page: KeysetRows<AuditLogRow> = await this.repository.search(current, filters, binding, {
        direction: 'asc',
        limit,
        cursor,
      });
      yield page.rows.map(toAuditLogDto);
      cursor = page.nextCursor;
      if (cursor === null) return;
      current = await this.callers.revalidate(caller, 'audit:export');
    }
  }

  /** @throws OrganizationAccessDenied for an organization in the filters that the caller may not access */
  async assertOrganizationAccess(caller: UserCaller, { orgId }: AuditFiltersDto): Promise<void> {
    if (orgId !== undefined) await this.directory.assertOrganizationAccess(caller, orgId);
  }
}
