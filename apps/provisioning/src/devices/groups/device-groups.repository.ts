import { Inject, Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import type { Caller } from '@rmm/access';
import {
  TenantDatabase,
  type BatchExecutor,
  type HasTenant,
  type QueryShape,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../../lists/sorted-list.repository.js';
import { nameKey } from '../../organizations/name-key.js';
import { ACTIVE_ORGANIZATION, ACTIVE_ORGANIZATIONS } from '../../organizations/organizations.repository.js';
import type { VisibleGroups } from './device-group-access.policy.js';
import { DeviceGroup } from './device-group.entity.js';

export interface DeviceGroupFilter {
  orgId?: string;
  siteId?: string;
  search?: string;
}

export interface NewDeviceGroup {
  partnerId: string;
  orgId: string;
  siteId: string | null;
  name: string;
  description: string | null;
}

/** Absent fields stay as they are. */
export type DeviceGroupChanges = Partial<Pick<NewDeviceGroup, 'siteId' | 'name' | 'description'>>;

/** A device that is or becomes a member, locked until the transaction ends. */
export interface LockedMember {
  id: string;
  siteId: string | null;
  isMember: boolean;
  /** False for a decommissioned device, which cannot become a member. */
  isActive: boolean;
}

/** The groups of an inactive organization cannot be accessed. */
const OF_ACTIVE_ORGANIZATION: QueryShape<DeviceGroup> = {
  key: 'active',
  build: (query) =>
    query.innerJoin(
      'organization',
      'o',
      `o.id = deviceGroup.orgId AND o.partner_id = deviceGroup.partnerId AND ${ACTIVE_ORGANIZATION}`,
    ),
};

/** SQL: locks by id, so that two changes of memberships cannot wait for each other; a decommissioning locks one of them. */
const LOCK_MEMBERS = `
  SELECT d.id, d.site_id AS "siteId", d.decommissioned_at IS NULL AS "isActive",
         EXISTS (SELECT FROM device_group_member m WHERE m.device_id = d.id AND m.group_id = :groupId) AS "isMember"
    FROM device d
   WHERE d.org_id = :orgId AND d.id IN (
     SELECT unnest(:deviceIds::uuid[]) UNION SELECT device_id FROM device_group_member WHERE group_id = :groupId)
   ORDER BY d.id FOR NO KEY UPDATE OF d`;

const COUNT_DEVICES = `
  SELECT m.group_id AS "groupId", count(*)::int AS devices FROM device_group_member m
   WHERE m.group_id = ANY (:groupIds::uuid[]) GROUP BY 1`;

const COUNT_DEVICES_OF_SITES = `
  SELECT m.group_id AS "groupId", count(*)::int AS devices
    FROM device_group_member m JOIN device d ON d.id = m.device_id AND d.site_id = ANY (:siteIds::uuid[])
   WHERE m.group_id = ANY (:groupIds::uuid[]) GROUP BY 1`;

@Injectable()
export class DeviceGroupsRepository extends SortedListRepository<DeviceGroup> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'organization' as const, list: 'device-groups' };
    super(tenants, config, DeviceGroup, () => new NotFoundError('Device group'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(
    caller: Caller,
    filter: DeviceGroupFilter,
    visible: VisibleGroups,
    page: SortedPageRequest,
  ): Promise<SortedRows<DeviceGroup>> {
    const { orgId, siteId, search } = filter;
    const { groupIds, siteIds } = visible;
    const pattern = search && `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return this.listSorted<DeviceGroup>(
      caller,
      page,
      { ...filter, ...visible },
      {
        where: { orgId, siteId, deletedAt: null },
        conditions: [
          groupIds && { sql: 'deviceGroup.id = ANY (:groupIds)', params: { groupIds } },
          siteIds && { sql: 'deviceGroup.siteId = ANY (:siteIds)', params: { siteIds } },
          pattern !== undefined && { sql: 'deviceGroup.name ILIKE :pattern', params: { pattern } },
        ],
        shape: OF_ACTIVE_ORGANIZATION,
        organizations: ACTIVE_ORGANIZATIONS,
        budget: { columns: ['description'] },
      },
    );
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<DeviceGroup> {
    return this.getOne(source, { where: { id, deletedAt: null }, shape: OF_ACTIVE_ORGANIZATION });
  }

  /** Locks a group until the transaction ends. @throws NotFoundError */
  lock(tx: TenantTransaction, id: string): Promise<DeviceGroup> {
    return this.getOne(tx, {
      where: { id, deletedAt: null },
      shape: OF_ACTIVE_ORGANIZATION,
      lock: 'FOR NO KEY UPDATE',
    });
  }

  /** Locks a group until the transaction ends; null for an unknown one. */
  findLocked(tx: TenantTransaction, id: string): Promise<DeviceGroup | null> {
    const where = { id, deletedAt: null };
    return this.findOne(tx, { where, shape: OF_ACTIVE_ORGANIZATION, lock: 'FOR NO KEY UPDATE' });
  }

  /** Counts the live groups of an organization. */
  countOf(tx: TenantTransaction, orgId: string): Promise<number> {
    return this.count(tx, { where: { orgId, deletedAt: null } });
  }

  create(tx: TenantTransaction, group: NewDeviceGroup): Promise<DeviceGroup> {
    return this.insert(tx, { ...group, nameKey: nameKey(group.name) });
  }

  /** Applies the changes and raises the version. */
  change(tx: TenantTransaction, id: string, changes: DeviceGroupChanges): Promise<DeviceGroup> {
    const key = changes.name === undefined ? undefined : nameKey(changes.name);
    return this.updateOne(tx, { id }, { ...changes, nameKey: key, version: () => 'version + 1' });
  }

  /** Deletes the groups of a site, which has no devices. @returns them */
  deleteOfSite(tx: TenantTransaction, orgId: string, siteId: string): Promise<DeviceGroup[]> {
    const changes = { deletedAt: () => 'now()', version: () => 'version + 1' };
    return this.update(tx, { orgId, siteId, deletedAt: IsNull() }, changes);
  }

  /** Deletes the group and its memberships, whose devices must be locked. */
  async remove(tx: TenantTransaction, { id }: DeviceGroup): Promise<void> {
    await tx.query('DELETE FROM device_group_member WHERE group_id = :id', { id });
    await this.updateOne(tx, { id }, { deletedAt: () => 'now()', version: () => 'version + 1' });
  }

  /** Locks the members of a group and further devices of its organization; unknown ones are left out. */
  lockMembers(
    tx: TenantTransaction,
    { id: groupId, orgId }: DeviceGroup,
    deviceIds: readonly string[] = [],
  ): Promise<LockedMember[]> {
    return tx.query<LockedMember>(LOCK_MEMBERS, { groupId, orgId, deviceIds });
  }

  /** Adds and removes members, which must be locked. */
  async changeMembers(
    tx: TenantTransaction,
    { id: groupId, orgId, partnerId }: DeviceGroup,
    { added, removed }: { added: readonly string[]; removed: readonly string[] },
  ): Promise<void> {
    await tx.queryAll([
      {
        sql: 'DELETE FROM device_group_member WHERE group_id = :groupId AND device_id = ANY (:removed::uuid[])',
        params: { groupId, removed },
      },
      {
        sql: `INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
              SELECT :groupId, unnest(:added::uuid[]), :partnerId, :orgId`,
        params: { groupId, added, partnerId, orgId },
      },
    ]);
  }

  /** Returns which of the devices are in more groups than allowed. */
  async listOverfilled(tx: TenantTransaction, deviceIds: readonly string[], maxGroups: number): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `SELECT device_id AS id FROM device_group_member WHERE device_id = ANY (:deviceIds::uuid[])
        GROUP BY 1 HAVING count(*) > :maxGroups::integer`,
      { deviceIds, maxGroups },
    );
    return rows.map(({ id }) => id);
  }

  /** Counts the devices of groups. @param siteIds  counts devices of these sites only */
  async countDevices(
    source: Caller | TenantTransaction,
    groupIds: readonly string[],
    siteIds: readonly string[] | null,
  ): Promise<Map<string, number>> {
    if (groupIds.length === 0) return new Map();
    const executor: BatchExecutor = 'query' in source ? source : this.tenants.reader(source);
    const rows = await (siteIds === null
      ? executor.query<{ groupId: string; devices: number }>(COUNT_DEVICES, { groupIds })
      : executor.query<{ groupId: string; devices: number }>(COUNT_DEVICES_OF_SITES, { groupIds, siteIds }));
    return new Map(rows.map(({ groupId, devices }) => [groupId, devices]));
  }

  /** Returns which of the ids are live groups of an organization, for another service. */
  async listLiveIds(caller: HasTenant, orgId: string, ids: readonly string[]): Promise<string[]> {
    const groups = await this.findMany(caller, { where: { orgId, id: ids, deletedAt: null }, columns: ['id'] });
    return groups.map(({ id }) => id);
  }
}
