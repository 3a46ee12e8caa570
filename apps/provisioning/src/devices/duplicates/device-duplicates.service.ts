import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { assertDevice, deviceGroupFilter, siteFilter, type Caller } from '@rmm/access';
import type { DeviceUpdated } from '@rmm/contracts';
import { AuditTrail, Outbox, resourceOf, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, ValidationError } from '@rmm/service-kit';
import { OrganizationsRepository } from '../../organizations/organizations.repository.js';
import { MAX_TAGS } from '../bulk/bulk-devices.service.js';
import { assertWithinLimits } from '../custom-fields/custom-fields.service.js';
import { DecommissioningRepository } from '../decommissioning/decommissioning.repository.js';
import { DeviceDecommissioned } from '../device.errors.js';
import { agentsChanged, decommissioned } from '../device.events.js';
import { toDeviceDto } from '../device.mapper.js';
import { DevicesRepository } from '../devices.repository.js';
import type { DeviceDto } from '../dto/device.dto.js';
import { MAX_GROUPS_OF_DEVICE } from '../groups/device-groups.service.js';
import { DeviceDuplicatesRepository, type MergedDevice } from './device-duplicates.repository.js';
import type { DuplicatesResponseDto, FindDuplicatesDto } from './dto/device-duplicates.dto.js';

const MAX_SETS = 200;
const MAX_DEVICES_OF_SET = 50;

const FIELDS = ['displayName', 'siteId', 'tags', 'customFields'] as const satisfies (keyof MergedDevice)[];
type Field = (typeof FIELDS)[number];

/** Finds devices that are one machine, and merges them. @see docs/reference/provisioning.md#duplicates */
@Injectable()
export class DeviceDuplicatesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly duplicates: DeviceDuplicatesRepository,
    private readonly devices: DevicesRepository,
    private readonly decommissioning: DecommissioningRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** A restricted caller sees the devices of its sites and groups only. @throws OrganizationAccessDenied, ValidationError */
  async find(caller: Caller, { orgId: requested, by }: FindDuplicatesDto): Promise<DuplicatesResponseDto> {
    const orgId = requested ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    await this.organizations.getAccessible(caller, orgId);
    const allowed = { siteIds: siteFilter(caller), groupIds: deviceGroupFilter(caller) };
    const limits = { maxSets: MAX_SETS, maxDevices: MAX_DEVICES_OF_SET };
    const sets = await this.duplicates.find(caller, { orgId, by, ...allowed, ...limits });
    return { data: { by, sets: sets.slice(0, MAX_SETS), truncated: sets.length > MAX_SETS } };
  }

  /**
   * Gives a device what its duplicate has in addition, and decommissions the duplicate. Fields that both have keep the value
   * of the device that is kept.
   * @throws NotFoundError, DeviceDecommissioned; ValidationError  for devices of two organizations, and when the kept device
   *   would have too many tags, groups or fields; SiteAccessDenied  for a restricted caller
   */
  merge(caller: Caller, id: string, duplicateId: string): Promise<DeviceDto> {
    if (id === duplicateId) throw ValidationError.forField('duplicateId', 'is the device itself');
    return this.tenants.transaction(caller, async (tx) => {
      const [kept, duplicate] = await this.lock(tx, caller, id, duplicateId);
      const merged = merge(kept, duplicate);
      assertMergeable(merged);
      const fields = FIELDS.filter((field) => !isDeepStrictEqual(kept[field], merged[field]));
      if ((await this.duplicates.joinGroups(tx, merged, duplicateId)) > MAX_GROUPS_OF_DEVICE) {
        throw ValidationError.forField('duplicateId', `together they are in more than ${MAX_GROUPS_OF_DEVICE} groups`);
      }
      await this.outbox.publish(tx, this.toMessages(caller, kept, merged, duplicate, fields));
      if (fields.length > 0) await this.duplicates.change(tx, merged);
      await this.decommissioning.decommission(tx, [duplicateId]);
      return toDeviceDto(await this.devices.get(tx, id));
    });
  }

  private async lock(
    tx: TenantTransaction,
    caller: Caller,
    id: string,
    duplicateId: string,
  ): Promise<[MergedDevice, MergedDevice]> {
    const locked = await this.duplicates.lock(tx, caller, [id, duplicateId]);
    const kept = locked.find((device) => device.id === id);
    if (!kept) throw new NotFoundError('Device');
    assertDevice(caller, kept);
    const duplicate = locked.find((device) => device.id === duplicateId);
    if (duplicate?.orgId !== kept.orgId) {
      throw ValidationError.forField('duplicateId', 'is not a device of the organization');
    }
    assertDevice(caller, duplicate);
    if (kept.isDecommissioned || duplicate.isDecommissioned) throw new DeviceDecommissioned();
    return [kept, duplicate];
  }

  private toMessages(
    caller: Caller,
    kept: MergedDevice,
    merged: MergedDevice,
    duplicate: MergedDevice,
    fields: Field[],
  ): OutgoingMessage[] {
    const { id: deviceId, hostname, orgId, partnerId } = kept;
    const data: DeviceUpdated = { deviceId, hostname, fields };
    if (fields.includes('displayName')) data.displayName = merged.displayName;
    if (fields.includes('siteId')) data.siteId = merged.siteId;
    if (fields.includes('tags')) data.tags = merged.tags;
    if (fields.includes('customFields')) {
      data.customFields = Object.keys(merged.customFields).filter((key) => !Object.hasOwn(kept.customFields, key));
    }
    const aggregate = { aggregateId: deviceId, aggregateVersion: Number(kept.version) + 1, partnerId, orgId };
    const updated: OutgoingMessage = {
      stream: 'events',
      type: 'device.updated',
      ...aggregate,
      actor: caller.actor,
      data,
    };
    const mergedDetails = { fields, mergedFrom: duplicate.id };
    return [
      ...(fields.length > 0 ? [updated] : []),
      decommissioned(caller, duplicate),
      this.audit.toMessage(caller, 'device.update', resourceOfDevice(kept), mergedDetails),
      this.audit.toMessage(caller, 'device.decommission', resourceOfDevice(duplicate), { mergedInto: deviceId }),
      agentsChanged({ deviceIds: [deviceId, duplicate.id] }, kept),
    ];
  }
}

const resourceOfDevice = ({ hostname, ...device }: MergedDevice) => resourceOf('device', { ...device, name: hostname });

const merge = (kept: MergedDevice, duplicate: MergedDevice): MergedDevice => ({
  ...kept,
  displayName: kept.displayName ?? duplicate.displayName,
  siteId: kept.siteId ?? duplicate.siteId,
  tags: [...new Set([...kept.tags, ...duplicate.tags])],
  customFields: { ...duplicate.customFields, ...kept.customFields },
});

/** @throws ValidationError */
function assertMergeable({ tags, customFields }: MergedDevice): void {
  if (tags.length > MAX_TAGS) {
    throw ValidationError.forField('duplicateId', `together they have more than ${MAX_TAGS} tags`);
  }
  assertWithinLimits(customFields);
}
