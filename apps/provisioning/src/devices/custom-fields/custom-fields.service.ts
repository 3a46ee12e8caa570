import { Injectable } from '@nestjs/common';
import { assertDevice, type Caller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { CustomFieldsRepository, type CustomFieldsRow, type MergedCustomFields } from './custom-fields.repository.js';
import { CustomFieldDefinitionsRepository } from './definitions/custom-field-definitions.repository.js';
import { findPatchProblems } from './definitions/custom-field-values.policy.js';
import { readCustomFieldPatch, type CustomFieldPatch } from './dto/custom-field-patch.dto.js';
import type { CustomFieldsDto } from './dto/custom-fields.dto.js';

/** Limits of one device, for all its fields after the merge. */
export const MAX_FIELDS = 500;
export const MAX_BYTES = 64 * 1024;

@Injectable()
export class CustomFieldsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly fields: CustomFieldsRepository,
    private readonly definitions: CustomFieldDefinitionsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws NotFoundError; SiteAccessDenied  for a restricted caller */
  async get(caller: Caller, deviceId: string): Promise<CustomFieldsDto> {
    const device = await this.fields.get(this.tenants.reader(caller), deviceId);
    assertDevice(caller, device);
    return { customFields: shownFields(device) };
  }

  /**
   * Merges a patch and returns all fields of the device. Checks run on the merged row under its lock; a refusal rolls
   * the merge back. A patch that changes nothing is neither published nor audited by its own action.
   * @param body  a flat map of any names; null removes a field
   * @throws ValidationError  for a malformed body, values that a definition does not allow, or more than a device may have; NotFoundError; SiteAccessDenied  for
   *   a restricted caller
   */
  merge(caller: Caller, deviceId: string, body: unknown): Promise<CustomFieldsDto> {
    const patch = readCustomFieldPatch(body);
    return this.tenants.transaction(caller, async (tx) => {
      const device = await this.fields.merge(tx, deviceId, patch);
      assertDevice(caller, device);
      await this.assertDefined(tx, device, patch);
      assertWithinLimits(device.customFields);
      if (device.isChanged) await this.publish(tx, caller, deviceId, device, patch.keys);
      return { customFields: shownFields(device) };
    });
  }

  /** @throws ValidationError  naming each field whose definition does not allow the change */
  private async assertDefined(
    tx: TenantTransaction,
    device: MergedCustomFields,
    patch: CustomFieldPatch,
  ): Promise<void> {
    const rules = await this.definitions.listRules(tx, device, patch.keys);
    const fieldErrors = findPatchProblems(rules, device.osType, patch);
    if (Object.keys(fieldErrors).length > 0) throw new ValidationError(undefined, { fieldErrors });
  }

  /** Publishes the names of the fields only: the values are the data of the customer. */
  private async publish(
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

/** Returns the fields of a device, those without a value with their default. */
const shownFields = ({ defaults, customFields }: CustomFieldsRow): CustomFieldsDto['customFields'] => ({
  ...defaults,
  ...customFields,
});

/** @throws ValidationError */
export function assertWithinLimits(customFields: CustomFieldsDto['customFields']): void {
  if (Object.keys(customFields).length > MAX_FIELDS) {
    throw ValidationError.forField('body', `a device has at most ${MAX_FIELDS} custom fields`);
  }
  if (Buffer.byteLength(JSON.stringify(customFields)) > MAX_BYTES) {
    throw ValidationError.forField('body', `the custom fields of a device have at most ${MAX_BYTES} bytes together`);
  }
}
