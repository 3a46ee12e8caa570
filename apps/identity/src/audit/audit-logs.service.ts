import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { Cursors, keysetPage, Tenants } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { AuditLogDto, AuditLogPageDto } from './audit-log.dto.js';
import { auditSearch, toAuditLogDto, type AuditLogRow } from './audit-search.js';
import type { AuditFiltersDto, ListAuditLogsDto } from './dto.js';

/** Reading the audit trail, always inside the caller's reach. */
@Injectable()
export class AuditLogsService {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: Tenants,
    private readonly directory: OrganizationDirectory,
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
    await this.assertReachable(caller, filters);
    const { rows, nextCursor } = await keysetPage<AuditLogRow>(
      this.tenants.reader(caller),
      this.cursors,
      { caller, list: 'audit-log', filters: { ...filters } },
      { ...auditSearch(caller, filters), direction: 'desc', limit, cursor },
    );
    return { data: rows.map(toAuditLogDto), pagination: { nextCursor, limit } };
  }

  /** Oldest first, page by page; each is asked for when the one before has been taken. */
  async *pages(caller: UserCaller, filters: AuditFiltersDto, size: number): AsyncGenerator<AuditLogDto[]> {
    const binding = { caller, list: 'audit-export', filters: {} };
    const query = { ...auditSearch(caller, filters), direction: 'asc', limit: size } as const;
    let cursor: string | null = null;
    do {
      const page: { rows: AuditLogRow[]; nextCursor: string | null } = await keysetPage<AuditLogRow>(
        this.tenants.reader(caller),
        this.cursors,
        binding,
        { ...query, cursor },
      );
      yield page.rows.map(toAuditLogDto);
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  /** @throws OrganizationAccessDenied  for an organisation named in the filters */
  async assertReachable(caller: UserCaller, { orgId }: AuditFiltersDto): Promise<void> {
    if (orgId !== undefined) await this.directory.assertReachable(caller, orgId);
  }
}
