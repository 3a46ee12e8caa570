import { assertDevice, type Caller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, ValidationError } from '@rmm/service-kit';
import type { CustomFieldPatch, CustomFieldValue } from './custom-field-patch.js';
import { CustomFieldsRepository, type MergedCustomFields } from './custom-fields.repository.js';

type CustomFields = Record<string, CustomFieldValue>;

/** Of one device: lists and exports carry them all. */
export const MAX_FIELDS = 500;
export const MAX_BYTES = 1024 * 1024;

@Injectable()
export class CustomFieldsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly fields: CustomFieldsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws NotFoundError; SiteAccessDenied  for a confined caller */
  async get(caller: Caller, deviceId: string): Promise<CustomFields> {
    const device = await this.fields.find(this.tenants.reader(caller), deviceId);
    if (!device) throw new NotFoundError('Device');
    assertDevice(caller, device);
    return device.customFields;
  }

  /**
   * Judged on the row as it was merged, under its lock: whoever is refused changed nothing.
   * @returns all fields of the device
   * @throws NotFoundError; SiteAccessDenied  for a confined caller; ValidationError  when the device would hold too much
   */
  merge(caller: Caller, deviceId: string, patch: CustomFieldPatch): Promise<CustomFields> {
    return this.tenants.transaction(caller, async (tx) => {
      const device = await this.fields.merge(tx, deviceId, patch);
      if (!device) throw new NotFoundError('Device');
      assertDevice(caller, device);
      assertRoom(device.customFields);
      await this.tell(tx, caller, deviceId, device, patch.keys);
      return device.customFields;
    });
  }

  /** Names only: values are the customer's, and may be anything. */
  private async tell(
    tx: TenantTransaction,
    caller: Caller,
    deviceId: string,
    device: MergedCustomFields,
    keys: string[],
  ): Promise<void> {
    const { orgId, partnerId, hostname, version } = device;
    await this.outbox.publish(tx, {
      stream: 'events',
      type: 'device.updated',
      aggregateId: deviceId,
      aggregateVersion: Number(version),
      partnerId,
      orgId,
      actor: caller.actor,
      data: { deviceId, hostname, fields: ['customFields'], customFields: keys },
    });
    const resource = { type: 'device', id: deviceId, name: hostname, orgId, partnerId };
    await this.audit.record(tx, caller, 'device.custom_field.update', resource, { keys });
  }
}

/** @throws ValidationError */
function assertRoom(customFields: CustomFields): void {
  if (Object.keys(customFields).length > MAX_FIELDS)
    throw ValidationError.of('body', `a device has at most ${MAX_FIELDS} custom fields`);
  if (Buffer.byteLength(JSON.stringify(customFields)) > MAX_BYTES)
    throw ValidationError.of('body', `the custom fields of a device have at most ${MAX_BYTES} bytes together`);
}
