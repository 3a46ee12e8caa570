import { Inject, Injectable } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import { isSiteRestricted, type UserCaller } from '@rmm/access';
import {
  Cursors,
  keysetPage,
  tenantCondition,
  TenantDatabase,
  type CursorBinding,
  type KeysetQuery,
  type KeysetRows,
} from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { AuditLogRow } from './audit-log.mapper.js';
import type { AuditFiltersDto } from './dto/audit-filters.dto.js';

const SELECT = `id, sequence, partner_id AS "partnerId", org_id AS "orgId", timestamp, actor_type AS "actorType",
  actor_id AS "actorId", actor_email AS "actorEmail", action, resource_type AS "resourceType",
  resource_id AS "resourceId", resource_name AS "resourceName", details, ip_address AS "ipAddress",
  user_agent AS "userAgent", result, error_message AS "errorMessage", initiated_by AS "initiatedBy",
  request_id AS "requestId", checksum, previous_checksum AS "previousChecksum"`;

const SORT: KeysetQuery['sort'] = [
  { expression: 'timestamp', type: 'timestamptz' },
  { expression: 'id', type: 'uuid' },
];

/** Each filter applies only when it is set, so that the plan of a statement is made for its own filters. */
const FILTERS = {
  orgId: 'e.org_id = :orgId',
  actorId: 'e.actor_id = :actorId',
  action: 'e.action = :action',
  prefix: 'starts_with(e.action, :prefix)',
  resourceType: 'e.resource_type = :resourceType',
  resourceId: 'e.resource_id = :resourceId',
  result: 'e.result = :result',
  from: 'e.timestamp >= :from',
  to: 'e.timestamp < :to',
} as const;
const FILTER_NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

export interface AuditPageRequest {
  direction: 'asc' | 'desc';
  limit: number;
  cursor?: string | null;
}

/** Searches audit entries. SQL, because its conditions are chosen for the indexes of a partitioned table. */
@Injectable()
export class AuditLogsRepository {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: TenantDatabase,
    @Inject(IDENTITY_CONFIG) config: IdentityConfig,
  ) {
    const { keys, activeKid } = config.secrets.keyRing;
    this.cursors = new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update('audit-log cursors')
        .digest(),
    );
  }

  /** Lists one page; the cost does not depend on its depth. @throws InvalidCursor */
  search(
    caller: UserCaller,
    filters: AuditFiltersDto,
    binding: CursorBinding,
    page: AuditPageRequest,
  ): Promise<KeysetRows<AuditLogRow>> {
    const query: KeysetQuery = { ...auditSearch(caller, filters), ...page };
    return keysetPage<AuditLogRow>(this.tenants.reader(caller), this.cursors, binding, query);
  }
}

/**
 * Returns the statement for the filters of a caller. Row-level security limits the result; the caller's tenant is repeated
 * as plain conditions, because no index serves the expression of a policy.
 */
export function auditSearch(
  caller: UserCaller,
  filters: AuditFiltersDto,
): Pick<KeysetQuery, 'select' | 'from' | 'where' | 'params' | 'sort'> {
  const { sql, params: tenant } = tenantCondition(caller, 'organization', 'e');
  const prefix = filters.action?.endsWith('.*') ? filters.action.slice(0, -1) : undefined;
  const values = { ...filters, prefix, action: prefix === undefined ? filters.action : undefined };
  const names = FILTER_NAMES.filter((name) => values[name] !== undefined);
  const conditions = [sql, ...names.map((name) => FILTERS[name])];
  const params: Record<string, unknown> = { ...tenant };
  for (const name of names) params[name] = values[name];
  if (isSiteRestricted(caller)) {
    // Entries name no site, so a caller restricted to sites sees the entries of its own acts.
    conditions.push('e.actor_id = :ownId');
    params.ownId = caller.userId;
  }
  return { select: SELECT, from: 'audit_entry e', where: conditions.join(' AND '), params, sort: SORT };
}
