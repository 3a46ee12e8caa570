import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  restrictToOrganization,
  tenantCondition,
  TenantDatabase,
  TenantRepository,
  type Condition,
  type PageRequest,
  type PageRows,
  type QueryShape,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { DeviceState } from '../device-state.entity.js';
import type { Device } from '../device.entity.js';
import {
  DevicePostureProduct,
  type DetectionStatus,
  type PostureCategory,
} from '../reports/device-posture-product.entity.js';
import type { OrganizationPostureDto, PostureCountsDto } from './dto/posture-summary.dto.js';

const MAX_ORGANIZATIONS = 2_000;
const MAX_PRODUCTS = 100;

/** The devices that a caller may see; null for no restriction. */
export interface VisibleDevices {
  siteIds: readonly string[] | null;
  groupIds: readonly string[] | null;
}

export interface SummarySelection extends VisibleDevices {
  orgId?: string;
  category: PostureCategory;
  stalenessDays: number;
}

export interface PostureSummary {
  totals: PostureCountsDto;
  orgs: OrganizationPostureDto[];
  isTruncated: boolean;
}

export interface ProductSelection extends VisibleDevices {
  orgId?: string;
  category: PostureCategory;
  product: string;
  status?: DetectionStatus;
}

/** A device on which a product was found. */
export type ProductDevice = Pick<Device, 'siteId' | 'hostname' | 'displayName' | 'osType'> &
  Pick<DevicePostureProduct, 'deviceId' | 'orgId' | 'version' | 'status'> &
  Pick<DeviceState, 'lastSeenAt'> & { deviceStatus: DeviceState['status']; collectedAt: Date };

type SummaryRow = OrganizationPostureDto & {
  totals: PostureCountsDto;
  organizations: number;
  hasMoreProducts: boolean;
};

const NOTHING: PostureCountsDto = {
  totalDevices: 0,
  neverScanned: 0,
  stale: 0,
  scannedNoneDetected: 0,
  detectedDevices: 0,
  freshDetectedDevices: 0,
};

const STALE_BEFORE = 'now() - make_interval(days => :stalenessDays::integer)';
const STALE_DAY = `((${STALE_BEFORE}) AT TIME ZONE 'UTC')::date`;
const OF_CATEGORY = `category IN ('', :category)`;

/**
 * SQL: the devices of each organization, and `keyed`: how many were scanned (no category), have a detection (no product) and
 * have each product. Counters have days: only the scans of the day in which scans get stale are read one by one.
 * @param tenant  the condition of the caller on the rows of an alias
 */
const FROM_COUNTERS = (tenant: (alias: string) => string): string => `
  accessible AS (
    SELECT n.org_id, n.devices
      FROM organization_count n JOIN organization o ON o.id = n.org_id AND o.partner_id = n.partner_id AND ${ACTIVE_ORGANIZATION}
     WHERE n.devices > 0 AND ${tenant('n')}),
  keyed AS MATERIALIZED (
    SELECT org_id, category, product, status, sum(devices)::integer AS devices, sum(fresh)::integer AS fresh FROM (
      SELECT c.org_id, c.category, c.product, c.status, c.devices,
             CASE WHEN c.day > ${STALE_DAY} THEN c.devices ELSE 0 END AS fresh
        FROM posture_count c WHERE ${tenant('c')} AND c.${OF_CATEGORY}
       UNION ALL
      SELECT r.org_id, k.category, k.product, k.status, 0, 1
        FROM device_posture r CROSS JOIN LATERAL posture_keys(r.detections) AS k
       WHERE r.is_active AND ${tenant('r')} AND k.${OF_CATEGORY}
         AND r.collected_at >= ${STALE_BEFORE} AND r.collected_at < (${STALE_DAY} + 1)::timestamp AT TIME ZONE 'UTC') AS each
     GROUP BY 1, 2, 3, 4)`;

/** SQL: the same of the devices that a restricted caller sees, which are of one organization. */
const FROM_DEVICES = (tenant: (alias: string) => string, { siteIds, groupIds }: VisibleDevices): string => `
  visible AS MATERIALIZED (
    SELECT d.id, d.org_id
      FROM device d JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
     WHERE d.decommissioned_at IS NULL AND ${tenant('d')}
       ${siteIds === null ? '' : 'AND d.site_id = ANY (:siteIds::uuid[])'}
       ${groupIds === null ? '' : `AND ${IN_GROUP('d.id')}`}),
  accessible AS (SELECT org_id, count(*)::integer AS devices FROM visible GROUP BY 1),
  keyed AS MATERIALIZED (
    SELECT r.org_id, k.category, k.product, k.status, count(*)::integer AS devices,
           (count(*) FILTER (WHERE r.collected_at >= ${STALE_BEFORE}))::integer AS fresh
      FROM visible v JOIN device_posture r ON r.device_id = v.id CROSS JOIN LATERAL posture_keys(r.detections) AS k
     WHERE k.${OF_CATEGORY}
     GROUP BY 1, 2, 3, 4)`;

const IN_GROUP = (deviceId: string): string =>
  `EXISTS (SELECT FROM device_group_member m WHERE m.device_id = ${deviceId} AND m.group_id = ANY (:groupIds::uuid[]))`;

const COUNTS = Object.keys(NOTHING);

const SUMMARY = (sources: string): string => `
  WITH ${sources},
  products AS (
    SELECT org_id, max(place) > ${MAX_PRODUCTS} AS has_more,
           jsonb_agg(jsonb_build_object('product', product, 'status', status, 'deviceCount', devices,
                                        'freshDeviceCount', fresh) ORDER BY place)
             FILTER (WHERE place <= ${MAX_PRODUCTS}) AS list
      FROM (SELECT *, row_number() OVER (PARTITION BY org_id ORDER BY devices DESC, product, status) AS place
              FROM keyed WHERE product <> '') AS ordered
     GROUP BY 1),
  orgs AS MATERIALIZED (
    SELECT accessible.org_id AS "orgId", accessible.devices AS "totalDevices",
           accessible.devices - coalesce(s.devices, 0) AS "neverScanned", coalesce(s.devices - s.fresh, 0) AS stale,
           coalesce(s.devices, 0) - coalesce(d.devices, 0) AS "scannedNoneDetected",
           coalesce(d.devices, 0) AS "detectedDevices", coalesce(d.fresh, 0) AS "freshDetectedDevices",
           coalesce(p.list, '[]') AS products, coalesce(p.has_more, false) AS "hasMoreProducts"
      FROM accessible
      LEFT JOIN keyed s ON s.org_id = accessible.org_id AND s.category = ''
      LEFT JOIN keyed d ON d.org_id = accessible.org_id AND d.category <> '' AND d.product = ''
      LEFT JOIN products p ON p.org_id = accessible.org_id)
  SELECT orgs.*, totals.*
    FROM orgs CROSS JOIN (
      SELECT count(*)::integer AS organizations,
             jsonb_build_object(${COUNTS.map((name) => `'${name}', sum("${name}")`).join(', ')}) AS totals
        FROM orgs) AS totals
   ORDER BY "totalDevices" DESC, "orgId" LIMIT ${MAX_ORGANIZATIONS}`;

/** The devices of inactive organizations cannot be accessed, decommissioned ones are not counted. */
const COUNTED: QueryShape<DevicePostureProduct> = {
  key: 'counted',
  build: (query) =>
    query
      .innerJoin('device', 'd', 'd.id = product.deviceId AND d.decommissioned_at IS NULL')
      .innerJoin(
        'organization',
        'o',
        `o.id = product.orgId AND o.partner_id = product.partnerId AND ${ACTIVE_ORGANIZATION}`,
      ),
};

const LISTED: QueryShape<DevicePostureProduct> = {
  key: 'listed',
  build: (query) =>
    COUNTED.build(query)
      .innerJoin('device_state', 's', 's.device_id = product.deviceId')
      .innerJoin('device_posture', 'r', 'r.device_id = product.deviceId')
      .addSelect('d.site_id', 'siteId')
      .addSelect('d.hostname', 'hostname')
      .addSelect('d.display_name', 'displayName')
      .addSelect('d.os_type', 'osType')
      .addSelect('s.status', 'deviceStatus')
      .addSelect('s.last_seen_at', 'lastSeenAt')
      .addSelect('r.collected_at', 'collectedAt'),
};

/** The condition of the index over the products of all tenants. */
const OF_ALL_TENANTS: Condition = { sql: `product.status <> ''` };

@Injectable()
export class PostureRepository extends TenantRepository<DevicePostureProduct> {
  constructor(tenants: TenantDatabase) {
    super(tenants, DevicePostureProduct, () => new NotFoundError('Product'), {
      ownership: 'organization',
      alias: 'product',
    });
  }

  /** Sums up the latest scans by organization, as of one moment. SQL: counters and set operations. */
  async summarize(caller: Caller, selection: SummarySelection): Promise<PostureSummary> {
    const { orgId, category, stalenessDays, ...visible } = selection;
    const source = orgId === undefined ? caller : restrictToOrganization(caller, orgId);
    const named = (alias: string) => (orgId === undefined ? '' : ` AND ${alias}.org_id = :orgId`);
    const tenant = (alias: string) => `${tenantCondition(source, 'organization', alias).sql}${named(alias)}`;
    const isRestricted = visible.siteIds !== null || visible.groupIds !== null;
    const sql = SUMMARY(isRestricted ? FROM_DEVICES(tenant, visible) : FROM_COUNTERS(tenant));
    const { params } = tenantCondition(source, 'organization', '');
    const rows = await this.tenants.read<SummaryRow>(source, sql, {
      ...{ ...params, category, stalenessDays },
      ...(orgId !== undefined && { orgId }),
      ...(visible.siteIds && { siteIds: visible.siteIds }),
      ...(visible.groupIds && { groupIds: visible.groupIds }),
    });
    const [first] = rows;
    return {
      totals: first?.totals ?? NOTHING,
      isTruncated: (first?.organizations ?? 0) > rows.length || rows.some(({ hasMoreProducts }) => hasMoreProducts),
      orgs: rows.map(({ totals: _totals, organizations: _organizations, hasMoreProducts: _more, ...org }) => org),
    };
  }

  /** Lists the devices with a product, newest first. */
  listDevices(caller: Caller, selection: ProductSelection, page: PageRequest): Promise<PageRows<ProductDevice>> {
    const { orgId, category, product: name, status, siteIds, groupIds } = selection;
    return this.listPage<ProductDevice>(caller, {
      page,
      where: { orgId, category, name, status },
      conditions: [
        siteIds && { sql: 'd.site_id = ANY (:siteIds::uuid[])', params: { siteIds } },
        groupIds && { sql: IN_GROUP('product.deviceId'), params: { groupIds } },
        caller.tenant.scope === 'system' && OF_ALL_TENANTS,
      ],
      columns: ['deviceId', 'orgId', 'version', 'status'],
      sort: { deviceCreatedAt: 'DESC', deviceId: 'DESC' },
      shape: LISTED,
      countShape: COUNTED,
      budget: { columns: ['hostname', 'displayName', 'version'] },
    });
  }
}
