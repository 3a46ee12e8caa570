import { Inject, Injectable } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import type { Caller } from '@rmm/access';
import {
  Cursors,
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type KeysetRows,
  type ListSelection,
  type PageRequest,
  type PageRows,
  type QueryShape,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import type { DeviceState } from './device-state.entity.js';
import { Device, type DeviceStatus, type OsType } from './device.entity.js';
import { DEVICE_INCLUDES, type DeviceInclude, type DeviceSort } from './dto/list-devices.dto.js';

type IncludedColumns = Partial<Pick<Device, 'customFields'> & Pick<DeviceState, 'metrics'>>;

/** A device with its state and groups; the columns of variable size are absent unless they were asked for. */
export type DeviceView = Omit<Device, 'customFields'> &
  Pick<DeviceState, 'status' | 'agentVersion' | 'lastSeenAt'> &
  IncludedColumns & { groupIds: string[]; hardware?: Record<string, unknown> | null };

export interface DeviceFilter {
  orgId?: string;
  orgIds?: readonly string[];
  siteId?: string;
  /** Any of these sites. */
  siteIds?: readonly string[];
  /** In any of these groups. */
  groupIds?: readonly string[];
  status?: DeviceStatus;
  osType?: OsType;
  role?: string;
  search?: string;
  includeDecommissioned: boolean;
  /** The sites a member is restricted to; null for no restriction. Such a member sees no device without a site. */
  allowedSiteIds: readonly string[] | null;
  /** The device groups a member is restricted to; null for no restriction. */
  allowedGroupIds: readonly string[] | null;
}

export interface DeviceOrder {
  /** Newest first when absent. */
  by?: DeviceSort;
  dir: 'asc' | 'desc';
}

/** The rows of a list, their order, and the columns of variable size to read. */
export interface DeviceListing {
  filter: DeviceFilter;
  order: DeviceOrder;
  include: readonly DeviceInclude[];
}

const IN_GROUP = (groups: string) =>
  `EXISTS (SELECT FROM device_group_member m WHERE m.device_id = device.id AND m.group_id = ANY (:${groups}))`;

/** The property of each order, which an index with the tenant before it and the id after it serves. */
const SORT_PROPERTIES = {
  hostname: 'hostnameKey',
  enrolled: 'enrolledKey',
  os: 'osType',
  status: 'status',
} as const satisfies Record<DeviceSort, string>;

const COUNTED: QueryShape<Device> = {
  key: 'counted',
  build: (query) =>
    query.innerJoin(
      'organization',
      'o',
      `o.id = device.orgId AND o.partner_id = device.partnerId AND ${ACTIVE_ORGANIZATION}`,
    ),
};

/** The condition of the index over the devices of all tenants. */
const OF_ALL_TENANTS = { sql: `device.osType <> ''` };

/** Applies the tenant of the caller to the state too, whose indexes begin with it: status is a column of the state. */
const BY_STATUS = { sql: 's.partner_id = device.partnerId AND s.org_id = device.orgId' };

/** Returns the shape of a device. Its organization is active: the devices of others cannot be accessed. */
function viewOf(include: readonly DeviceInclude[]): QueryShape<Device> {
  return {
    key: `view ${include.join()}`,
    sortable: { status: 'text' },
    build: (query) => {
      query
        .innerJoin(
          'organization',
          'o',
          `o.id = device.orgId AND o.partner_id = device.partnerId AND ${ACTIVE_ORGANIZATION}`,
        )
        .innerJoin('device_state', 's', 's.device_id = device.id')
        .addSelect('s.status', 'status')
        .addSelect('s.agent_version', 'agentVersion')
        .addSelect('s.last_seen_at', 'lastSeenAt')
        .addSelect(
          'ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = device.id ORDER BY m.group_id)',
          'groupIds',
        );
      if (include.includes('metrics')) query.addSelect('s.metrics', 'metrics');
      if (include.includes('hardware')) {
        query.addSelect('(SELECT h.hardware FROM device_hardware h WHERE h.device_id = device.id)', 'hardware');
      }
      return query;
    },
  };
}

/** A count reads the states only when its conditions do. */
const countShapeOf = (isByStatus: boolean): QueryShape<Device> => (isByStatus ? viewOf([]) : COUNTED);

@Injectable()
export class DevicesRepository extends TenantRepository<Device> {
  private readonly cursors: Cursors;

  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>,
  ) {
    super(tenants, Device, () => new NotFoundError('Device'), { ownership: 'organization' });
    const { keys, activeKid } = config.secrets.keyRing;
    this.cursors = new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update('device cursors')
        .digest(),
    );
  }

  /** Lists one page by its number. */
  listNumbered(caller: Caller, listing: DeviceListing, page: PageRequest): Promise<PageRows<DeviceView>> {
    return this.listPage<DeviceView>(caller, { ...selectionOf(caller, listing), page });
  }

  /** Lists one page after a cursor; the cost does not depend on its depth. @throws InvalidCursor */
  listAfter(
    caller: Caller,
    listing: DeviceListing,
    { cursor, limit }: { cursor: string; limit: number },
  ): Promise<KeysetRows<DeviceView>> {
    const binding = { caller, list: 'devices', filters: { ...listing.filter, include: listing.include } };
    return this.keysetPage<DeviceView>(caller, this.cursors, binding, {
      ...selectionOf(caller, listing),
      cursor,
      limit,
    });
  }

  /** Counts the rows of a list. */
  countMatching(caller: Caller, { filter }: DeviceListing): Promise<Omit<PageRows<never>, 'rows'>> {
    return this.countListed(caller, { ...conditionsOf(filter), shape: countShapeOf(filter.status !== undefined) });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<DeviceView> {
    return this.getOne<DeviceView>(source, { where: { id }, hidden: ['customFields'], shape: viewOf(DEVICE_INCLUDES) });
  }

  /**
   * Returns which of these reservations have a device. A new device has the id of its reservation; a re-enrolled device
   * keeps its id and stores the latest reservation. Uses the worker login: there is no caller.
   */
  async listExisting(reservationIds: readonly string[]): Promise<string[]> {
    const rows = await this.worker.query<{ id: string }>(
      `SELECT id FROM device WHERE id = ANY (:reservationIds::uuid[])
       UNION
       SELECT enrollment_reservation_id FROM device WHERE enrollment_reservation_id = ANY (:reservationIds::uuid[])`,
      { reservationIds },
    );
    return rows.map(({ id }) => id);
  }
}

function selectionOf(caller: Caller, { filter, order, include }: DeviceListing): ListSelection<Device> {
  const direction = order.dir === 'asc' ? 'ASC' : 'DESC';
  const property = order.by && SORT_PROPERTIES[order.by];
  const hidden: ('customFields' | 'hostnameKey' | 'enrolledKey')[] = [];
  if (include.includes('customFields')) hidden.push('customFields');
  if (property === 'hostnameKey' || property === 'enrolledKey') hidden.push(property);
  const isByStatus = filter.status !== undefined || order.by === 'status';
  const { where, conditions } = conditionsOf(filter, isByStatus);
  return {
    where,
    conditions: [...(conditions ?? []), caller.tenant.scope === 'system' && OF_ALL_TENANTS],
    hidden,
    shape: viewOf(include),
    countShape: countShapeOf(isByStatus),
    sort: { [property ?? 'createdAt']: direction, id: direction },
    budget: { columns: ['tags', 'groupIds', ...include] },
  };
}

function conditionsOf(
  filter: DeviceFilter,
  isByStatus = filter.status !== undefined,
): Pick<ListSelection<Device>, 'where' | 'conditions'> {
  const { orgId, orgIds, siteId, siteIds, groupIds, status, osType, role, search } = filter;
  const { includeDecommissioned, allowedSiteIds, allowedGroupIds } = filter;
  const pattern = search && `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  return {
    where: { orgId, siteId, osType, deviceRole: role },
    conditions: [
      orgIds && { sql: 'device.orgId = ANY (:orgIds)', params: { orgIds } },
      siteIds && { sql: 'device.siteId = ANY (:siteIds)', params: { siteIds } },
      allowedSiteIds && { sql: 'device.siteId = ANY (:allowedSiteIds)', params: { allowedSiteIds } },
      groupIds && { sql: IN_GROUP('groupIds'), params: { groupIds } },
      allowedGroupIds && { sql: IN_GROUP('allowedGroupIds'), params: { allowedGroupIds } },
      isByStatus && BY_STATUS,
      status && { sql: 's.status = :status', params: { status } },
      !includeDecommissioned && status !== 'decommissioned' && { sql: 'device.decommissionedAt IS NULL' },
      pattern !== undefined && {
        sql: 'device.hostname ILIKE :pattern OR device.displayName ILIKE :pattern',
        params: { pattern },
      },
    ],
  };
}
