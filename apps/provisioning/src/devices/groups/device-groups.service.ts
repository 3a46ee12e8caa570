import { Injectable } from '@nestjs/common';
import { assertManagesSite, siteFilter, type Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, type DoneDto, ValidationError } from '@rmm/service-kit';
import type { SortedPage } from '../../lists/dto/sorted-page.dto.js';
import { trimName } from '../../organizations/name-key.js';
import { OrganizationsRepository } from '../../organizations/organizations.repository.js';
import { SitesRepository } from '../../sites/sites.repository.js';
import { assertSeesGroup, visibleGroups } from './device-group-access.policy.js';
import type { DeviceGroup } from './device-group.entity.js';
import { DeviceGroupLimitExceeded, DeviceGroupNameConflict } from './device-group.errors.js';
import { toDeviceGroupDto } from './device-group.mapper.js';
import { DeviceGroupsRepository, type LockedMember } from './device-groups.repository.js';
import type { CreateDeviceGroupDto } from './dto/create-device-group.dto.js';
import type { DeviceGroupDto } from './dto/device-group.dto.js';
import type { ListDeviceGroupsDto } from './dto/list-device-groups.dto.js';
import type { UpdateDeviceGroupDto } from './dto/update-device-group.dto.js';

/** Groups of one organization. */
export const MAX_GROUPS = 500;
/** Groups of one device: lists show them all. */
export const MAX_GROUPS_OF_DEVICE = 50;

/** Manages device groups and their members. @see docs/reference/provisioning.md#device-groups */
@Injectable()
export class DeviceGroupsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly groups: DeviceGroupsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sites: SitesRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied, InvalidCursor; ValidationError  for an order that no index serves */
  async list(caller: Caller, query: ListDeviceGroupsDto): Promise<SortedPage<DeviceGroupDto>> {
    const { orgId, siteId, search } = query;
    if (query.sort === 'name' && caller.tenant.scope === 'system' && orgId === undefined) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const visible = visibleGroups(caller);
    const { rows, pagination } = await this.groups.list(caller, { orgId, siteId, search }, visible, query);
    return { data: await this.toDtos(caller, caller, rows), pagination };
  }

  /** @throws NotFoundError; SiteAccessDenied  for a restricted caller */
  async get(caller: Caller, id: string): Promise<DeviceGroupDto> {
    const group = await this.groups.get(caller, id);
    assertSeesGroup(caller, group);
    return this.toDto(caller, caller, group);
  }

  /**
   * @throws OrganizationAccessDenied, DeviceGroupNameConflict, DeviceGroupLimitExceeded; ValidationError  for a site of
   *   another organization; SiteAccessDenied  for a caller restricted to other sites or to groups
   */
  async create(caller: Caller, dto: CreateDeviceGroupDto): Promise<DeviceGroupDto> {
    const { siteId = null, description = null } = dto;
    const orgId = dto.orgId ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    const { partnerId } = await this.organizations.getAccessible(caller, orgId);
    assertManagesSite(caller, siteId);
    return this.tenants.lockedTransaction(caller, `rmm.provisioning.device-groups.${orgId}`, async (tx) => {
      await this.organizations.getAccessible(tx, orgId);
      await this.assertSite(tx, orgId, siteId);
      if ((await this.groups.countOf(tx, orgId)) >= MAX_GROUPS) throw new DeviceGroupLimitExceeded();
      const name = trimName(dto.name);
      const group = await rejectTakenName(this.groups.create(tx, { partnerId, orgId, siteId, name, description }));
      await this.record(tx, caller, 'device_group.create', group, { siteId });
      return toDeviceGroupDto(group, 0);
    });
  }

  /**
   * @throws NotFoundError, DeviceGroupNameConflict; ValidationError  for a site of another organization or one that is not
   *   the site of all devices of the group; SiteAccessDenied  for a caller restricted to other sites or to groups
   */
  update(caller: Caller, id: string, dto: UpdateDeviceGroupDto): Promise<DeviceGroupDto> {
    const { siteId, description } = dto;
    const fields = Object.entries(dto)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => field);
    if (fields.length === 0) throw new ValidationError('No field to change');
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.lockManaged(tx, caller, id);
      if (siteId !== undefined && siteId !== before.siteId) await this.assertNewSite(tx, caller, before, siteId);
      const name = dto.name === undefined ? undefined : trimName(dto.name);
      const group = await rejectTakenName(this.groups.change(tx, id, { siteId, name, description }));
      await this.record(tx, caller, 'device_group.update', group, { fields });
      return this.toDto(tx, caller, group);
    });
  }

  /** Deletes a group; its devices stay. Callers restricted to it see no device of it any more. */
  delete(caller: Caller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const group = await this.lockManaged(tx, caller, id);
      const members = await this.groups.lockMembers(tx, group);
      await this.groups.remove(tx, group);
      await this.record(tx, caller, 'device_group.delete', group, { devices: members.length });
      return { success: true };
    });
  }

  /**
   * Replaces the members of a group. Concurrent requests follow each other: the members are those of one of them.
   * @throws NotFoundError; ValidationError naming each device that cannot be a member; SiteAccessDenied
   */
  replaceDevices(caller: Caller, id: string, deviceIds: readonly string[]): Promise<DeviceGroupDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const group = await this.lockManaged(tx, caller, id);
      const locked = await this.groups.lockMembers(tx, group, deviceIds);
      const requested = new Set(deviceIds);
      assertEach(deviceIds, new Set(locked.filter(isEligible(group)).map((device) => device.id)), toProblem(group));
      const added = locked.filter((device) => requested.has(device.id) && !device.isMember).map((device) => device.id);
      const removed = locked.filter((device) => !requested.has(device.id)).map((device) => device.id);
      await this.groups.changeMembers(tx, group, { added, removed });
      const overfilled = new Set(await this.groups.listOverfilled(tx, added, MAX_GROUPS_OF_DEVICE));
      const allowed = new Set(deviceIds.filter((deviceId) => !overfilled.has(deviceId)));
      assertEach(deviceIds, allowed, `is in ${MAX_GROUPS_OF_DEVICE} groups already`);
      const changed = added.length + removed.length > 0 ? await this.groups.change(tx, id, {}) : group;
      await this.record(tx, caller, 'device_group.update', group, { added: added.length, removed: removed.length });
      return this.toDto(tx, caller, changed);
    });
  }

  /** @throws NotFoundError, SiteAccessDenied, RecordChanged */
  private async lockManaged(tx: TenantTransaction, caller: Caller, id: string): Promise<DeviceGroup> {
    const group = await this.groups.lock(tx, id);
    assertManagesSite(caller, group.siteId);
    await assertIfMatch(() => this.toDto(tx, caller, group));
    return group;
  }

  /** @throws ValidationError naming `siteId` */
  private async assertSite(tx: TenantTransaction, orgId: string, siteId: string | null): Promise<void> {
    if (siteId === null || (await this.sites.keep(tx, orgId, siteId))) return;
    throw ValidationError.forField('siteId', 'is not a site of the organization');
  }

  private async assertNewSite(
    tx: TenantTransaction,
    caller: Caller,
    group: DeviceGroup,
    siteId: string | null,
  ): Promise<void> {
    assertManagesSite(caller, siteId);
    await this.assertSite(tx, group.orgId, siteId);
    if (siteId === null) return;
    const members = await this.groups.lockMembers(tx, group);
    if (members.some((member) => member.siteId !== siteId)) {
      throw ValidationError.forField('siteId', 'is not the site of all devices of the group');
    }
  }

  private async toDto(source: Caller | TenantTransaction, caller: Caller, group: DeviceGroup): Promise<DeviceGroupDto> {
    const counts = await this.groups.countDevices(source, [group.id], siteFilter(caller));
    return toDeviceGroupDto(group, counts.get(group.id) ?? 0);
  }

  private async toDtos(source: Caller, caller: Caller, groups: DeviceGroup[]): Promise<DeviceGroupDto[]> {
    const ids = groups.map(({ id }) => id);
    const counts = await this.groups.countDevices(source, ids, siteFilter(caller));
    return groups.map((group) => toDeviceGroupDto(group, counts.get(group.id) ?? 0));
  }

  private async record(
    tx: TenantTransaction,
    caller: Caller,
    action: AuditAction,
    { id, name, orgId, partnerId }: DeviceGroup,
    details: Record<string, unknown>,
  ): Promise<void> {
    await this.audit.record(tx, caller, action, { type: 'device_group', id, name, orgId, partnerId }, details);
  }
}

const isEligible =
  ({ siteId }: DeviceGroup) =>
  (device: LockedMember): boolean =>
    device.isActive && (siteId === null || device.siteId === siteId);

const toProblem = ({ siteId }: DeviceGroup): string =>
  siteId === null ? 'is not a device of the organization' : 'is not a device of the site of the group';

/** @throws ValidationError naming each device that is not allowed */
function assertEach(deviceIds: readonly string[], allowed: ReadonlySet<string>, text: string): void {
  const problems = deviceIds.flatMap((id, index) => (allowed.has(id) ? [] : [[`deviceIds.${index}`, [text]]]));
  if (problems.length === 0) return;
  throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(problems) as Record<string, string[]> });
}

async function rejectTakenName(write: Promise<DeviceGroup>): Promise<DeviceGroup> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error, 'device_group_name_key')) throw new DeviceGroupNameConflict();
    throw error;
  }
}
