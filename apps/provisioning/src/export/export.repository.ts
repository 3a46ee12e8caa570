import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import type { ExportRequest } from '@rmm/contracts';
import { type HasTenant, limitBytes, TenantDatabase, tryLockSql } from '@rmm/persistence';
import { mapYielding } from '@rmm/service-kit';
import {
  EXPORT_PAGE_BYTES,
  type ExportFilter,
  type ExportRow,
  type ExportRows,
  filterOf,
  pageParams,
  toPage,
} from './export-page.js';

/** A resource with a table of its own, which has the alias `r`; its organization has `o`. Constant SQL. */
export interface ExportResource {
  /** Columns in addition to those of `ExportRow`. */
  columns: string;
  /** Columns of variable size. */
  large: readonly string[];
  orgId: string;
  siteId: string;
  /** The column that a site is compared with; null for resources that are not filtered by site. */
  siteFilter: string | null;
  from: string;
  /** True for the rows that are not deleted. */
  isLive: string;
}

export const ORGANIZATIONS: ExportResource = {
  columns: 'r.name, r.slug, r.type, r.status',
  large: [],
  orgId: 'r.id',
  siteId: 'NULL::uuid',
  siteFilter: null,
  from: 'organization r JOIN organization o ON o.id = r.id',
  isLive: 'r.deleted_at IS NULL',
};

/** The siteId of a site is its own id. */
export const SITES: ExportResource = {
  columns: 'r.name, r.timezone, r.address, r.contact',
  large: ['address', 'contact'],
  orgId: 'r.org_id',
  siteId: 'r.id',
  siteFilter: null,
  from: 'site r JOIN organization o ON o.id = r.org_id',
  isLive: 'r.deleted_at IS NULL',
};

const GROUPS_OF_DEVICE = 'device_group_member m WHERE m.device_id = r.id';

/** Lists are cut to their first items; the number of groups is that of all. */
export const DEVICES: ExportResource = {
  columns: `r.hostname, r.display_name AS "displayName", r.os_type AS "osType", r.os_version AS "osVersion", r.architecture,
    r.device_role AS "deviceRole", r.is_virtual AS "isVirtual", r.virtualization_platform AS "virtualizationPlatform",
    r.enrolled_at AS "enrolledAt", h.hardware ->> 'serialNumber' AS "serialNumber",
    h.hardware ->> 'manufacturer' AS manufacturer, h.hardware ->> 'model' AS model,
    left(r.custom_fields ->> 'assetTag', 255) AS "assetTag", left(r.custom_fields ->> 'inventoryId', 255) AS "inventoryId",
    left(r.custom_fields ->> 'externalId', 255) AS "externalId", r.tags[1 : 200] AS tags,
    ARRAY(SELECT m.group_id FROM ${GROUPS_OF_DEVICE} ORDER BY m.group_id LIMIT 500) AS "groupIds",
    (SELECT count(*)::int FROM ${GROUPS_OF_DEVICE}) AS "groupTotal"`,
  large: ['hostname', 'displayName', 'tags', 'groupIds'],
  orgId: 'r.org_id',
  siteId: 'r.site_id',
  siteFilter: 'r.site_id',
  from: `device r JOIN organization o ON o.id = r.org_id LEFT JOIN device_hardware h ON h.device_id = r.id`,
  isLive: 'r.decommissioned_at IS NULL',
};

/** Takes the lock before it reads the clock: CASE evaluates its condition first, and both are volatile. */
const TAKE_SNAPSHOT = `
  SELECT CASE WHEN ${tryLockSql(`'rmm.provisioning.export.' || :partnerId`)}
              THEN date_trunc('milliseconds', clock_timestamp()) - interval '1 millisecond' END AS at`;

/** SQL: an organization `o` whose records are exported. */
export const IS_VISIBLE = `o.deleted_at IS NULL AND o.status IN ('active', 'trial')`;

/** Queries of exports, run as the partner that partner-gateway acts for. SQL: measured pages of large tables. */
@Injectable()
export class ExportRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the time of a snapshot, or null while a transaction of the partner has uncommitted changes. */
  async findSnapshotTime(caller: HasTenant): Promise<Date | null> {
    const { partnerId } = caller.tenant;
    const [row] = await this.tenants.read<{ at: Date | null }>(caller, TAKE_SNAPSHOT, { partnerId });
    return row?.at ?? null;
  }

  /** Returns a page by (id, orgId), or since a time by (updatedAt, id, orgId). */
  async list<Row>(resource: ExportResource, request: ExportRequest, snapshotAt: string): Promise<ExportRows<Row>> {
    const caller = tenantOf(request.caller);
    const limited = limitBytes(textOf(resource, filterOf(request), request.updatedSince === null), {
      columns: resource.large,
      maxBytes: EXPORT_PAGE_BYTES,
    });
    // The driver reads one column faster than twenty, each with a parser of its type. It reads all rows at once: their JSON
    // is parsed afterwards, a few at a time. Times are texts in it.
    const sql = `SELECT to_json(p)::text AS json FROM (${limited}) p`;
    const params = pageParams(sql, request, String(caller.tenant.partnerId), snapshotAt);
    const rows = await this.tenants.read<{ json: string }>(caller, sql, params);
    return toPage(await mapYielding(rows, ({ json }) => parseRow<Row>(json)), request.limit);
  }
}

function parseRow<Row>(json: string): Row & ExportRow {
  const row = JSON.parse(json) as Row & ExportRow;
  row.updatedAt = new Date(row.updatedAt);
  row.jsonBytes = Buffer.byteLength(json);
  return row;
}

/** An organization has one row of each id: positions need no organization. */
function textOf(resource: ExportResource, filter: ExportFilter, isFull: boolean): string {
  const { columns, orgId, siteId, from, isLive } = resource;
  const [page, order] = isFull
    ? ['r.created_at <= :snapshotAt::timestamptz AND r.id > :afterId::uuid', 'r.id']
    : [
        `r.updated_at <= :snapshotAt::timestamptz AND (r.updated_at, r.id) > (:afterUpdatedAt::timestamptz, :afterId::uuid)`,
        'r.updated_at, r.id',
      ];
  return `
  SELECT r.id, ${orgId} AS "orgId", ${siteId} AS "siteId", r.updated_at AS "updatedAt", NULL::timestamptz AS "sourceUpdatedAt",
         ${columns}
    FROM ${from}
   WHERE ${scopeOf(resource, filter)} AND ${isLive} AND ${IS_VISIBLE} AND ${page}
   ORDER BY ${order} LIMIT :limit`;
}

function scopeOf({ orgId, siteFilter }: ExportResource, filter: ExportFilter): string {
  const ofOrganization = `${orgId} = :orgId::uuid AND r.partner_id = :partnerId::uuid`;
  if (filter === 'partner') return 'r.partner_id = :partnerId::uuid';
  if (filter === 'organization') return ofOrganization;
  if (siteFilter === null) throw new Error('The resource is not filtered by site');
  return `${siteFilter} = :siteId::uuid AND r.partner_id = :partnerId::uuid AND (:orgId::uuid IS NULL OR ${orgId} = :orgId::uuid)`;
}
