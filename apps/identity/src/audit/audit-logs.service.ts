import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { Cursors, keysetPage, TenantDatabase, type KeysetQuery, type KeysetRows } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { AuditLogDto, AuditLogPageDto } from './audit-log.dto.js';
import { auditSearch, toAuditLogDto, type AuditLogRow } from './audit-search.js';
import type { AuditFiltersDto, ListAuditLogsDto } from './dto.js';
import { StandingCallers } from './standing-callers.js';

/** Reading the audit trail, always inside the caller's reach. */
@Injectable()
export class AuditLogsService {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly callers: StandingCallers,
    @Inject(IDENTITY_CONFIG) config: IdentityConfig,
  ) {
    const { keys, activeKid } = config.secrets.keyRing;
    this.cursors = new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update('audit-log cursors')
        .digest(),
    );
  }

  /** Newest first, the same cost at any depth. @throws OrganizationAccessDenied, InvalidCursor */
  async list(caller: UserCaller, { cursor, limit, ...filters }: ListAuditLogsDto): Promise<AuditLogPageDto> {
    await this.assertOrganizationAccess(caller, filters);
    const { rows, nextCursor } = await keysetPage<AuditLogRow>(
      this.tenants.reader(caller),
      this.cursors,
      { caller, list: 'audit-log', filters: { ...filters } },
      { ...auditSearch(caller, filters), direction: 'desc', limit, cursor },
    );
    return { data: rows.map(toAuditLogDto), pagination: { nextCursor, limit } };
  }

  /**
   * Oldest first, page by page; each is asked for when the one before has been taken, with the reach that the caller
   * has by then. Whoever has lost it meanwhile gets no further page, but an error.
   */
  async *pages(caller: UserCaller, filters: AuditFiltersDto, size: number): AsyncGenerator<AuditLogDto[]> {
    const binding = { caller, list: 'audit-export', filters: {} };
    let standing = caller;
    let cursor: string | null = null;
    for (;;) {
      const query: KeysetQuery = { ...auditSearch(standing, filters), direction: 'asc', limit: size, cursor };
      const page: KeysetRows<AuditLogRow> = await keysetPage(
        this.tenants.reader(standing),
        this.cursors,
        binding,
        query,
      );
      yield page.rows.map(toAuditLogDto);
      cursor = page.nextCursor;
      if (cursor === null) return;
      standing = await this.callers.again(caller, 'audit:export');
    }
  }

  /** @throws OrganizationAccessDenied  for an organization named in the filters */
  async assertOrganizationAccess(caller: UserCaller, { orgId }: AuditFiltersDto): Promise<void> {
    if (orgId !== undefined) await this.directory.assertOrganizationAccess(caller, orgId);
  }
}
