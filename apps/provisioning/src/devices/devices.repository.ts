import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  TenantDatabase,
  WorkerDatabase,
  type ListSelection,
  type QueryShape,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import {
  NEWEST_FIRST,
  SortedListRepository,
  type ListOrders,
  type SortedPageRequest,
  type SortedRows,
} from '../lists/sorted-list.repository.js';
import { ACTIVE_ORGANIZATION, ACTIVE_ORGANIZATIONS } from '../organizations/organizations.repository.js';
import { customFieldDefaults } from './custom-fields/definitions/custom-field-definitions.repository.js';
import type { DeviceState } from './device-state.entity.js';
import { Device, type DeviceStatus, type OsType } from './device.entity.js';
import { DEVICE_INCLUDES, type DeviceInclude, type DeviceSort } from './dto/list-devices.dto.js';

type IncludedColumns = Partial<Pick<Device, 'customFields'> & Pick<DeviceState, 'metrics'>>;

/** A device with its state and groups; the columns of variable size are absent unless they were asked for. */
export type DeviceView = Omit<Device, 'customFields'> &
  Pick<DeviceState, 'status' | 'agentVersion' | 'lastSeenAt'> &
  IncludedColumns & {
    customFieldDefaults?: Record<string, unknown>;
    groupIds: string[];
    hardware?: Record<string, unknown> | null;
  };

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

/** The rows of a list, and the columns of variable size to read. */
export interface DeviceListing {
  filter: DeviceFilter;
  include: readonly DeviceInclude[];
}

const IN_GROUP = (groups: string) =>
  `EXISTS (SELECT FROM device_group_member m WHERE m.device_id = device.id AND m.group_id = ANY (:${groups}))`;

/** Heartbeats write no index: that of `lastSeen` has the hour alone, and the devices of an hour are sorted when they are read. */
const ORDERS: ListOrders<DeviceSort> = {
  hostname: { by: ['hostnameKey'], dir: 'asc' },
  lastSeen: { by: ['lastSeenHour', 'lastSeenKey'], dir: 'asc' },
  enrolled: { by: ['enrolledKey'], dir: 'asc' },
  os: { by: ['osType'], dir: 'asc' },
  status: { by: ['status'], id: 'stateDeviceId', dir: 'asc' },
  created: NEWEST_FIRST,
};

/** Properties that are read for an order only. */
const SORT_PROPERTIES: Partial<Record<string, 'hostnameKey' | 'enrolledKey'>> = {
  hostname: 'hostnameKey',
  enrolled: 'enrolledKey',
};

const CUSTOM_FIELD_DEFAULTS = customFieldDefaults({
  partnerId: 'device.partnerId',
  orgId: 'device.orgId',
  osType: 'device.osType',
});

/** A device that was never seen is the least recent. */
const LAST_SEEN_KEY = `coalesce(s.last_seen_at, '-infinity')`;

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

/** Applies the tenant of the caller to the state too, whose indexes begin with it. */
const BY_STATE = { sql: 's.partner_id = device.partnerId AND s.org_id = device.orgId' };

/** Returns the shape of a device. Its organization is active: the devices of others cannot be accessed. */
function viewOf(include: readonly DeviceInclude[], sort: DeviceSort | 'created' = 'created'): QueryShape<Device> {
  return {
    key: `view ${include.join()} by ${sort}`,
    sortable: { status: 'text', stateDeviceId: 'uuid', lastSeenHour: 'timestamptz', lastSeenKey: 'timestamptz' },
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
      // With both columns of one table a cursor is a condition of its index.
      if (sort === 'status') query.addSelect('s.device_id', 'stateDeviceId');
      if (sort === 'lastSeen') {
        query.addSelect('s.last_seen_hour', 'lastSeenHour').addSelect(LAST_SEEN_KEY, 'lastSeenKey');
      }
      if (include.includes('customFields')) query.addSelect(CUSTOM_FIELD_DEFAULTS, 'customFieldDefaults');
      if (include.includes('metrics')) query.addSelect('s.metrics', 'metrics');
      if (include.includes('hardware')) {
        query.addSelect('(SELECT h.hardware FROM device_hardware h WHERE h.device_id = device.id)', 'hardware');
      }
      return query;
    },
  };
}

@Injectable()
export class DevicesRepository extends SortedListRepository<Device, DeviceSort> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>,
  ) {
    const options = { ownership: 'organization' as const, list: 'devices', orders: ORDERS };
    super(tenants, config, Device, () => new NotFoundError('Device'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, listing: DeviceListing, page: SortedPageRequest<DeviceSort>): Promise<SortedRows<DeviceView>> {
    const filters = { ...listing.filter, include: listing.include };
    return this.listSorted<DeviceView>(caller, page, filters, selectionOf(caller, listing, page.sort));
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<DeviceView> {
    return this.getOne<DeviceView>(source, { where: { id }, hidden: ['customFields'], shape: viewOf(DEVICE_INCLUDES) });
  }

  /** Returns the device of an agent; never a decommissioned one. @throws NotFoundError */
  getActiveByAgent(source: Caller | TenantTransaction, agentId: string): Promise<DeviceView> {
    return this.getOne<DeviceView>(source, { where: { agentId, decommissionedAt: null }, shape: viewOf([]) });
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

function selectionOf(
  caller: Caller,
  { filter, include }: DeviceListing,
  sort: DeviceSort | 'created' = 'created',
): ListSelection<Device> {
  const property = SORT_PROPERTIES[sort];
  // A count reads the states only when its conditions do.
  const isByState = filter.status !== undefined || sort === 'status' || sort === 'lastSeen';
  const { where, conditions } = conditionsOf(filter);
  return {
    where,
    conditions: [...(conditions ?? []), isByState && BY_STATE, caller.tenant.scope === 'system' && OF_ALL_TENANTS],
    hidden: [...(include.includes('customFields') ? ['customFields' as const] : []), ...(property ? [property] : [])],
    shape: viewOf(include, sort),
    countShape: isByState ? viewOf([]) : COUNTED,
    organizations: isByState ? undefined : ACTIVE_ORGANIZATIONS,
    budget: {
      columns: ['tags', 'groupIds', ...include, ...(include.includes('customFields') ? ['customFieldDefaults'] : [])],
    },
  };
}

function conditionsOf(filter: DeviceFilter): Pick<ListSelection<Device>, 'where' | 'conditions'> {
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
      status && { sql: 's.status = :status', params: { status } },
      !includeDecommissioned && status !== 'decommissioned' && { sql: 'device.decommissionedAt IS NULL' },
      pattern !== undefined && {
        sql: 'device.hostname ILIKE :pattern OR device.displayName ILIKE :pattern',
        params: { pattern },
      },
    ],
  };
}
