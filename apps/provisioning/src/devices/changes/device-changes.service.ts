import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { assertDevice, assertSite, type Caller } from '@rmm/access';
import type { DeviceUpdated } from '@rmm/contracts';
import { AuditTrail, Outbox, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, ValidationError } from '@rmm/service-kit';
import { SitesRepository } from '../../sites/sites.repository.js';
import { DeviceDecommissioned } from '../device.errors.js';
import { agentsChanged } from '../device.events.js';
import { toDeviceDto } from '../device.mapper.js';
import { DevicesRepository } from '../devices.repository.js';
import type { DeviceDto } from '../dto/device.dto.js';
import type { UpdateDeviceDto } from '../dto/update-device.dto.js';
import { DeviceChangesRepository, type ChangeableFields, type ChangedDevice } from './device-changes.repository.js';

const FIELDS = ['displayName', 'siteId', 'tags', 'status'] as const satisfies (keyof ChangeableFields)[];
type Field = (typeof FIELDS)[number];

/** Changes what users may change of a device. */
@Injectable()
export class DeviceChangesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly changes: DeviceChangesRepository,
    private readonly devices: DevicesRepository,
    private readonly sites: SitesRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * A change to what is stored already is neither published nor audited by its own action.
   * @throws NotFoundError, RecordChanged, ValidationError, DeviceDecommissioned; SiteAccessDenied  for a restricted caller
   */
  update(caller: Caller, id: string, dto: UpdateDeviceDto): Promise<DeviceDto> {
    if (FIELDS.every((field) => dto[field] === undefined)) throw ValidationError.nothingToChange();
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.changes.lock(tx, caller, id);
      assertDevice(caller, before);
      await assertIfMatch(async () => toDeviceDto(await this.devices.get(tx, id)));
      if (before.status === 'decommissioned') throw new DeviceDecommissioned();
      if (before.status === 'pending' && dto.status !== undefined) {
        throw ValidationError.forField('status', 'cannot be set before the device has enrolled');
      }
      const after = merge(before, dto);
      const fields = FIELDS.filter((field) => !isDeepStrictEqual(before[field], after[field]));
      if (fields.includes('siteId')) await this.assertNewSite(tx, caller, before, after.siteId);
      if (fields.length > 0) await this.store(tx, caller, before, after, fields);
      return toDeviceDto(await this.devices.get(tx, id));
    });
  }

  private async assertNewSite(
    tx: TenantTransaction,
    caller: Caller,
    { orgId }: ChangedDevice,
    siteId: string | null,
  ): Promise<void> {
    assertSite(caller, siteId);
    if (siteId === null || (await this.sites.keep(tx, orgId, siteId))) return;
    throw ValidationError.forField('siteId', 'is not a site of the organization');
  }

  /** Messages come before the change, so that the counter of the partner is locked for the last statements only. */
  private async store(
    tx: TenantTransaction,
    caller: Caller,
    before: ChangedDevice,
    after: ChangeableFields,
    fields: Field[],
  ): Promise<void> {
    const { id, hostname, orgId, partnerId } = before;
    await this.outbox.publish(tx, toMessages(caller, before, after, fields));
    const resource = { type: 'device', id, name: hostname, orgId, partnerId };
    await this.audit.record(tx, caller, 'device.update', resource, { fields });
    await this.changes.change(tx, id, after);
  }
}

const merge = (before: ChangedDevice, dto: UpdateDeviceDto): ChangeableFields => ({
  displayName: dto.displayName === undefined ? before.displayName : dto.displayName,
  siteId: dto.siteId === undefined ? before.siteId : dto.siteId,
  tags: dto.tags ?? before.tags,
  status: dto.status ?? before.status,
});

function toMessages(
  { actor }: Caller,
  before: ChangedDevice,
  after: ChangeableFields,
  fields: Field[],
): OutgoingMessage[] {
  const { id: deviceId, hostname, orgId, partnerId, status, lastSeenAt } = before;
  const aggregate = { aggregateId: deviceId, aggregateVersion: Number(before.version) + 1, partnerId, orgId, actor };
  const data: DeviceUpdated = { deviceId, hostname, fields, ...pick(after, fields) };
  const messages: OutgoingMessage[] = [{ stream: 'events', type: 'device.updated', ...aggregate, data }];
  if (status === 'online' && after.status === 'offline') {
    const { displayName } = after;
    const offline = { deviceId, hostname, displayName, lastSeenAt: lastSeenAt?.toISOString() ?? null };
    messages.push({ stream: 'events', type: 'device.offline', ...aggregate, data: offline });
  }
  // The cached tokens of agents carry the site.
  if (fields.includes('siteId')) messages.push(agentsChanged({ deviceIds: [deviceId] }, { partnerId, orgId }));
  return messages;
}

const pick = (values: ChangeableFields, fields: Field[]): Partial<ChangeableFields> =>
  Object.fromEntries(fields.map((field) => [field, values[field]]));
