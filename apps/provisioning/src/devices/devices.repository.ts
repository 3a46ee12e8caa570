import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import {
  TenantDatabase,
  TenantRepository,
  WorkerDatabase,
  type PageRequest,
  type PageRows,
  type QueryShape,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import { Device, type DeviceStatus } from './device.entity.js';

export interface DeviceView extends Device {
  groupIds: string[];
}

export interface DeviceFilter {
  orgId?: string;
  siteId?: string;
  status?: DeviceStatus;
  search?: string;
  includeDecommissioned: boolean;
  /** The sites a member is restricted to; null for no restriction. Such a member sees no device without a site. */
  siteIds: readonly string[] | null;
  /** True for a member restricted to device groups. No device is in a group yet, so such a member sees none. */
  isGroupRestricted: boolean;
}

/** The devices of an inactive organization cannot be accessed. */
const VIEW: QueryShape<Device> = {
  key: 'view',
  build: (query) =>
    query
      .innerJoin('organization', 'o', `o.id = device.orgId AND ${ACTIVE_ORGANIZATION}`)
      .addSelect(`'{}'::uuid[]`, 'groupIds'),
};

@Injectable()
export class DevicesRepository extends TenantRepository<Device> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, Device, () => new NotFoundError('Device'), { ownership: 'organization' });
  }

  /** Lists one page, newest first. */
  list(caller: Caller, filter: DeviceFilter, page: PageRequest): Promise<PageRows<DeviceView>> {
    const { orgId, siteId, status, search, includeDecommissioned, siteIds, isGroupRestricted } = filter;
    const pattern = search && `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return this.listPage<DeviceView>(caller, {
      where: { orgId, siteId, status },
      conditions: [
        pattern !== undefined && {
          sql: 'device.hostname ILIKE :pattern OR device.displayName ILIKE :pattern',
          params: { pattern },
        },
        !includeDecommissioned && status === undefined && { sql: `device.status <> 'decommissioned'` },
        siteIds && { sql: 'device.siteId = ANY (:siteIds)', params: { siteIds } },
        isGroupRestricted && { sql: 'false' },
      ],
      shape: VIEW,
      page,
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<DeviceView> {
    return this.getOne<DeviceView>(source, { where: { id }, shape: VIEW });
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
