import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import type { ExportRequest } from '@rmm/contracts';
import { type HasTenant, TenantDatabase, tryLockSql } from '@rmm/persistence';

/** The columns with which every exported record starts. */
export interface ExportRow {
  id: string;
  orgId: string;
  siteId: string | null;
  updatedAt: Date;
}

/** A resource: its table with the alias `r`, joined to its organization `o`. Constant SQL. */
export interface ExportResource {
  /** Columns in addition to those of `ExportRow`. */
  columns: string;
  orgId: string;
  siteId: string;
  from: string;
}

export const ORGANIZATIONS: ExportResource = {
  columns: 'r.name, r.slug, r.type, r.status',
  orgId: 'r.id',
  siteId: 'NULL::uuid',
  from: 'organization r JOIN organization o ON o.id = r.id',
};

/** The siteId of a site is its own id. */
export const SITES: ExportResource = {
  columns: 'r.name, r.timezone, r.address, r.contact',
  orgId: 'r.org_id',
  siteId: 'r.id',
  from: 'site r JOIN organization o ON o.id = r.org_id',
};

/** Takes the lock before it reads the clock: CASE evaluates its condition first, and both are volatile. */
const TAKE_SNAPSHOT = `
  SELECT CASE WHEN ${tryLockSql(`'rmm.provisioning.export.' || :partnerId`)}
              THEN date_trunc('milliseconds', clock_timestamp()) - interval '1 millisecond' END AS at`;

/** Queries of exports, run as the partner that partner-gateway acts for. */
@Injectable()
export class ExportRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the time of a snapshot, or null while a transaction of the partner has uncommitted changes. */
  async findSnapshotTime(caller: HasTenant): Promise<Date | null> {
    const { partnerId } = caller.tenant;
    const [row] = await this.tenants.read<{ at: Date | null }>(caller, TAKE_SNAPSHOT, { partnerId });
    return row?.at ?? null;
  }

  /** Returns up to one row more than the limit, by (id, orgId), or by (updatedAt, id, orgId) since a time. */
  list<Row>(
    resource: ExportResource,
    { caller: acting, orgId, updatedSince, after, limit }: ExportRequest,
    snapshotAt: string,
  ): Promise<(Row & ExportRow)[]> {
    const position = { afterId: after?.id ?? null, afterOrgId: after?.orgId ?? null };
    const caller = tenantOf(acting);
    const { partnerId } = caller.tenant;
    const params = { partnerId, orgId, snapshotAt, ...position, limit: limit + 1 };
    if (updatedSince === null) return this.tenants.read(caller, fullText(resource), params);
    const afterUpdatedAt = after?.updatedAt ?? null;
    return this.tenants.read(caller, incrementalText(resource), { ...params, updatedSince, afterUpdatedAt });
  }
}

function fullText({ orgId, ...resource }: ExportResource): string {
  const page = `r.created_at <= :snapshotAt::timestamptz
    AND (:afterId::uuid IS NULL OR (r.id, ${orgId}) > (:afterId::uuid, :afterOrgId::uuid))`;
  return textOf({ orgId, ...resource }, page, `r.id, ${orgId}`);
}

function incrementalText({ orgId, ...resource }: ExportResource): string {
  const page = `r.updated_at > :updatedSince::timestamptz AND r.updated_at <= :snapshotAt::timestamptz
    AND (:afterId::uuid IS NULL
         OR (r.updated_at, r.id, ${orgId}) > (:afterUpdatedAt::timestamptz, :afterId::uuid, :afterOrgId::uuid))`;
  return textOf({ orgId, ...resource }, page, `r.updated_at, r.id, ${orgId}`);
}

const textOf = ({ columns, orgId, siteId, from }: ExportResource, page: string, order: string): string => `
  SELECT r.id, ${orgId} AS "orgId", ${siteId} AS "siteId", r.updated_at AS "updatedAt", ${columns}
    FROM ${from}
   WHERE r.partner_id = :partnerId AND r.deleted_at IS NULL AND o.deleted_at IS NULL AND o.status IN ('active', 'trial')
     AND (:orgId::uuid IS NULL OR ${orgId} = :orgId) AND ${page}
   ORDER BY ${order} LIMIT :limit`;
