import { Injectable } from '@nestjs/common';
import { assertDevice, assertManagesSite, assertSite, SiteAccessDenied, type Caller } from '@rmm/access';
import type { DeviceUpdated } from '@rmm/contracts';
import { AuditTrail, Outbox, resourceOf, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { SitesRepository } from '../../sites/sites.repository.js';
import { DecommissioningRepository } from '../decommissioning/decommissioning.repository.js';
import { agentsChanged, decommissioned } from '../device.events.js';
import type { DeviceGroup } from '../groups/device-group.entity.js';
import { DeviceGroupsRepository } from '../groups/device-groups.repository.js';
import { MAX_GROUPS_OF_DEVICE } from '../groups/device-groups.service.js';
import { BulkDevicesRepository, type BulkDevice } from './bulk-devices.repository.js';
import {
  BULK_PROBLEMS,
  type BulkDecommissionDto,
  type BulkGroupDto,
  type BulkProblem,
  type BulkResponseDto,
  type BulkSiteDto,
  type BulkTagsDto,
} from './dto/bulk-devices.dto.js';

export const MAX_TAGS = 50;

/** The outcome for one device: its new state, that it is as requested, or why it cannot be changed. */
type Decision<T> = { change: T } | 'unchanged' | BulkProblem;

/** The devices that a request changes, with their new state. */
interface Change<T> {
  device: BulkDevice;
  change: T;
}

/**
 * Changes up to 1,000 devices in one transaction with a fixed number of statements. A device that cannot be changed does not
 * prevent the others; a repeated request finds every device as it should be.
 */
@Injectable()
export class BulkDevicesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly devices: BulkDevicesRepository,
    private readonly decommissioning: DecommissioningRepository,
    private readonly groups: DeviceGroupsRepository,
    private readonly sites: SitesRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** Adds and removes tags; a tag that is in both lists is added. @throws ValidationError  without a tag */
  changeTags(caller: Caller, { deviceIds, add = [], remove = [] }: BulkTagsDto): Promise<BulkResponseDto> {
    if (add.length + remove.length === 0) throw ValidationError.nothingToChange();
    const decide = ({ tags: before }: BulkDevice): Decision<string[]> => {
      const tags = [...new Set([...before.filter((tag) => !remove.includes(tag)), ...add])];
      if (tags.length === before.length && tags.every((tag) => before.includes(tag))) return 'unchanged';
      return tags.length > MAX_TAGS ? 'tag_limit_reached' : { change: tags };
    };
    return this.tenants.transaction(caller, async (tx) => {
      const { changes, response } = await this.decide(tx, caller, deviceIds, decide);
      await this.publishUpdates(tx, caller, changes, (tags) => ({ fields: ['tags'], tags }));
      await this.devices.setTags(
        tx,
        changes.map(({ device, change: tags }) => ({ id: device.id, tags })),
      );
      return response;
    });
  }

  /**
   * Moves devices to a site, or with null to none. They leave the device groups of other sites.
   * @throws SiteAccessDenied  for a caller restricted to other sites; ValidationError  for an unknown site
   */
  moveToSite(caller: Caller, { deviceIds, siteId }: BulkSiteDto): Promise<BulkResponseDto> {
    assertSite(caller, siteId);
    return this.tenants.transaction(caller, async (tx) => {
      const orgId = siteId === null ? null : await this.sites.findOrganization(tx, siteId);
      if (siteId !== null && orgId === null)
        throw ValidationError.forField('siteId', 'is not a site of the organization');
      const decide = (device: BulkDevice): Decision<string | null> => {
        if (orgId !== null && device.orgId !== orgId) return 'organization_mismatch';
        return device.siteId === siteId ? 'unchanged' : { change: siteId };
      };
      const { changes, response } = await this.decide(tx, caller, deviceIds, decide);
      const changed = changes.map(({ device }) => device);
      await this.publishUpdates(tx, caller, changes, () => ({ fields: ['siteId'], siteId }));
      await this.outbox.publish(tx, outdatedAgents(changed)); // the cached tokens of agents carry the site
      await this.devices.setSite(tx, idsOf(changed), siteId);
      return response;
    });
  }

  /**
   * Adds devices to a group or removes them.
   * @throws ValidationError  for an unknown group; SiteAccessDenied  for a caller who does not manage it
   */
  changeGroup(caller: Caller, { deviceIds, groupId, action }: BulkGroupDto): Promise<BulkResponseDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const group = await this.groups.findLocked(tx, groupId);
      if (group === null) throw ValidationError.forField('groupId', 'is not a device group');
      assertManagesSite(caller, group.siteId);
      const decide = (device: BulkDevice) => decideMembership(group, action, device);
      const { changes, response } = await this.decide(tx, caller, deviceIds, decide);
      if (changes.length === 0) return response;
      const ids = idsOf(changes.map(({ device }) => device));
      await (action === 'add'
        ? this.devices.addToGroup(tx, group, ids)
        : this.devices.removeFromGroup(tx, groupId, ids));
      await this.groups.change(tx, groupId, {});
      const details = action === 'add' ? { added: ids.length, removed: 0 } : { added: 0, removed: ids.length };
      await this.audit.record(tx, caller, 'device_group.update', resourceOf('device_group', group), details);
      return response;
    });
  }

  /** Decommissions devices; those that are decommissioned already stay as they are. */
  decommission(caller: Caller, { deviceIds }: BulkDecommissionDto): Promise<BulkResponseDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const decide = (): Decision<null> => ({ change: null });
      const { changes, response } = await this.decide(tx, caller, deviceIds, decide, 'unchanged');
      const changed = changes.map(({ device }) => device);
      await this.outbox.publish(tx, [
        ...changed.map((device) => decommissioned(caller, device)),
        ...changed.map((device) => this.audit.toMessage(caller, 'device.decommission', resourceOfDevice(device))),
        ...outdatedAgents(changed),
      ]);
      await this.decommissioning.decommission(tx, idsOf(changed));
      return response;
    });
  }

  /** Locks the devices and decides for each; `ofDecommissioned` is what the request means for a decommissioned one. */
  private async decide<T>(
    tx: TenantTransaction,
    caller: Caller,
    deviceIds: readonly string[],
    decide: (device: BulkDevice) => Decision<T>,
    ofDecommissioned: 'unchanged' | BulkProblem = 'device_decommissioned',
  ): Promise<{ changes: Change<T>[]; response: BulkResponseDto }> {
    const locked = new Map((await this.devices.lock(tx, caller, deviceIds)).map((device) => [device.id, device]));
    const changes: Change<T>[] = [];
    const results = deviceIds.map((deviceId) => {
      const device = locked.get(deviceId);
      const decision = !device
        ? 'not_found'
        : (findRefusal(caller, device) ?? (device.isDecommissioned ? ofDecommissioned : decide(device)));
      if (decision === 'unchanged') return { deviceId, status: 'unchanged' as const };
      if (typeof decision === 'string') {
        return { deviceId, status: 'failed' as const, code: decision, error: BULK_PROBLEMS[decision] };
      }
      if (device) changes.push({ device, change: decision.change });
      return { deviceId, status: 'changed' as const };
    });
    const count = (status: string) => results.filter((result) => result.status === status).length;
    const summary = { changed: count('changed'), unchanged: count('unchanged'), failed: count('failed') };
    return { changes, response: { data: { results, summary } } };
  }

  /** Messages come before the changes, so that the counters of partners are locked for the last statements only. */
  private async publishUpdates<T>(
    tx: TenantTransaction,
    caller: Caller,
    changes: readonly Change<T>[],
    dataOf: (change: T) => Pick<DeviceUpdated, 'fields' | 'tags' | 'siteId'>,
  ): Promise<void> {
    await this.outbox.publish(
      tx,
      changes.flatMap(({ device, change }): OutgoingMessage[] => {
        const { id: deviceId, hostname, version, orgId, partnerId } = device;
        const data: DeviceUpdated = { deviceId, hostname, ...dataOf(change) };
        const aggregate = { aggregateId: deviceId, aggregateVersion: Number(version) + 1, partnerId, orgId };
        return [
          { stream: 'events', type: 'device.updated', ...aggregate, actor: caller.actor, data },
          this.audit.toMessage(caller, 'device.update', resourceOfDevice(device), { fields: data.fields }),
        ];
      }),
    );
  }
}

const idsOf = (devices: readonly BulkDevice[]): string[] => devices.map(({ id }) => id);

const resourceOfDevice = ({ hostname, ...device }: BulkDevice) => resourceOf('device', { ...device, name: hostname });

/** Returns one broadcast for each organization. */
function outdatedAgents(devices: readonly BulkDevice[]): OutgoingMessage[] {
  const byOrganization = new Map<string, BulkDevice[]>();
  for (const device of devices) {
    const others = byOrganization.get(device.orgId);
    if (others) others.push(device);
    else byOrganization.set(device.orgId, [device]);
  }
  return [...byOrganization.values()].map((own) => agentsChanged({ deviceIds: idsOf(own) }, own[0]));
}

function findRefusal(caller: Caller, device: BulkDevice): BulkProblem | null {
  try {
    assertDevice(caller, device);
    return null;
  } catch (error) {
    if (error instanceof SiteAccessDenied) return 'site_access_denied';
    throw error;
  }
}

function decideMembership(group: DeviceGroup, action: 'add' | 'remove', device: BulkDevice): Decision<null> {
  const isMember = device.groupIds.includes(group.id);
  if (device.orgId !== group.orgId) return 'organization_mismatch';
  if (isMember === (action === 'add')) return 'unchanged';
  if (action === 'remove') return { change: null };
  if (group.siteId !== null && device.siteId !== group.siteId) return 'site_mismatch';
  return device.groupIds.length >= MAX_GROUPS_OF_DEVICE ? 'group_limit_reached' : { change: null };
}
