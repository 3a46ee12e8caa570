import type { ExportedBase, ExportedDevice, ExportedDeviceInventory } from '@rmm/contracts';
import {
  automationRecord,
  backupConfigurationRecord,
  configurationAssignmentRecord,
  configurationPolicyRecord,
  customFieldRecord,
  deviceInventoryRecord,
  deviceRelationshipsRecord,
  deviceSoftwareRecord,
} from '@rmm/contracts';
import { type ExportResource, toRecord } from '../export-record.mapper.js';
import { limitItems } from './collection.js';
import * as definitions from './definition-resources.js';
import * as devices from './device-resources.js';

const [deviceId, siteId] = ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'];
const base: ExportedBase = { id: deviceId, orgId: 'o', siteId: null, sourceUpdatedAt: '2026-03-01T12:00:00.000Z' };
const BASE = ['id', 'orgId', 'siteId', 'sourceUpdatedAt', 'revision'];
/** A device with nothing known but its name. */
const device: ExportedDevice = {
  ...{ hostname: 'pc-1', displayName: null, osType: 'linux', osVersion: null, architecture: null, deviceRole: null },
  ...{ isVirtual: null, virtualizationPlatform: null, enrolledAt: null, serialNumber: null, manufacturer: null },
  ...{ model: null, assetTag: null, inventoryId: null, externalId: null, tags: [], groupIds: [], groupTotal: 0 },
};
const script = {
  ...{ sourceScope: 'partner', name: 'S', description: null, category: null, osTypes: ['linux'], language: 'bash' },
  ...{
    content: 'df',
    parameters: null,
    timeoutSeconds: 300,
    runAs: 'system',
    version: 1,
    exitCodeSeverityMapping: null,
  },
};
const value = { deviceId, definitionId: siteId, name: 'F', fieldKey: 'f', type: 'text', value: 'x' };

/**
 * A record with unknown values, as provisioning sends it, and its fields in addition to those of every record.
 * @see docs/reference/partner-interface.md#records
 */
const CASES: [ExportResource<never>, object, string][] = [
  [
    devices.DEVICES,
    device,
    'hostname displayName type operatingSystem installation hardwareIdentity stableIdentifiers tags groupIds groupMembership linkGroupId linkGroupRole',
  ],
  [
    devices.DEVICE_INVENTORY,
    deviceInventoryRecord.parse({ subjectType: 'device', deviceId }),
    'subjectType deviceId hardware disks interfaces addresses warranty virtualMachines collections',
  ],
  [
    devices.DEVICE_INVENTORY,
    deviceInventoryRecord.parse({ subjectType: 'site', siteSubjectId: siteId }),
    'subjectType siteSubjectId networkEquipment networkSegments collections',
  ],
  [devices.DEVICE_SOFTWARE, deviceSoftwareRecord.parse({ deviceId }), 'subjectType deviceId software collection'],
  [
    devices.DEVICE_RELATIONSHIPS,
    deviceRelationshipsRecord.parse({ deviceId }),
    'deviceId siteSubjectId edges collection',
  ],
  [
    definitions.CONFIGURATION_POLICIES,
    configurationPolicyRecord.parse({ name: 'P', status: 'active' }),
    'sourceScope name description status features',
  ],
  [
    definitions.CONFIGURATION_ASSIGNMENTS,
    configurationAssignmentRecord.parse({ policyId: 'p', level: 'site' }),
    'policyId policyName sourceScope level targetId priority roleFilter osFilter',
  ],
  [
    definitions.AUTOMATIONS,
    automationRecord.parse({ name: 'A', enabled: true }),
    'sourceScope name description enabled trigger conditions actions onFailure notificationTargets dependencies',
  ],
  [
    definitions.SCRIPTS,
    script,
    'sourceScope name description category osTypes language content parameters timeoutSeconds runAs version exitCodeSeverityMapping',
  ],
  [
    definitions.BACKUP_CONFIGURATIONS,
    backupConfigurationRecord.parse({ kind: 'destination', name: 'B', type: 'file', provider: 's3' }),
    'kind sourceScope name schedule retention exclusions completenessGaps type provider compression encryption active default',
  ],
  [
    definitions.BACKUP_CONFIGURATIONS,
    backupConfigurationRecord.parse({ kind: 'profile', name: 'B' }),
    'kind sourceScope name schedule retention exclusions completenessGaps description active selections destinationId',
  ],
  [
    definitions.BACKUP_CONFIGURATIONS,
    backupConfigurationRecord.parse({ kind: 'policy', name: 'B', enabled: true }),
    'kind sourceScope name schedule retention exclusions completenessGaps enabled destinationId targets gfs legalHold legalHoldReason bandwidthLimitMbps backupWindowStart backupWindowEnd priority',
  ],
  [
    definitions.CUSTOM_FIELDS,
    customFieldRecord.parse({ name: 'F', fieldKey: 'f', type: 'text', required: false }),
    'sourceScope name fieldKey type options required defaultValue deviceTypes',
  ],
  [definitions.CUSTOM_FIELD_VALUES, value, 'deviceId definitionId target name fieldKey type value'],
] as never;

/** Lists the paths of absent values: unknown ones are null. */
function absentPaths(of: unknown, at: string): string[] {
  if (of === undefined) return [at];
  if (typeof of !== 'object' || of === null) return [];
  return Object.entries(of).flatMap(([name, item]) => absentPaths(item, `${at}.${name}`));
}

describe('the records of a resource', () => {
  it.each(
    CASES.map(([resource, source, fields], index) => [`${index} ${resource.name}`, resource, source, fields] as const),
  )('of %s have exactly the documented fields, null where nothing is known', (_, resource, source, fields) => {
    const given = { ...source, ...base, changedAt: 'x', password: 'secret' } as never;
    const { record } = toRecord(resource, given);
    expect(Object.keys(record).sort()).toEqual([...fields.split(' '), ...BASE].sort());
    expect(absentPaths(record, 'record')).toEqual([]);
    expect(JSON.stringify(record)).not.toContain('secret');
  });

  it('have the fields of their items only', () => {
    const inventory = deviceInventoryRecord.parse({
      subjectType: 'device',
      deviceId,
      disks: [{ id: 'd', password: 'secret' }],
      addresses: [{ id: 'a', address: '10.0.0.1', assignment: 'dhcp', dnsServers: Array(21).fill('10.0.0.2') }],
    });
    const source: ExportedDeviceInventory & ExportedBase = { ...inventory, ...base };
    const { record } = toRecord(devices.DEVICE_INVENTORY, source);
    const { disks, addresses } = record as unknown as Record<string, { dnsServers: [] }[]>;
    expect(disks).toEqual([{ id: 'd', mountPoint: null, device: null, fileSystem: null, totalGb: null }]);
    expect(addresses[0].dnsServers).toHaveLength(20);
  });

  it('say how many groups of a device are missing', () => {
    const groupIds = Array.from({ length: 500 }, (_, n) => `${n}`);
    const { record } = toRecord(devices.DEVICES, { ...device, ...base, groupIds, groupTotal: 501 });
    expect(record).toMatchObject({
      groupMembership: { total: 501, included: 500, complete: false, reason: 'membership_limit_exceeded' },
    });
    expect(toRecord(devices.DEVICES, { ...device, ...base, tags: Array(201).fill('t') }).record).toMatchObject({
      tags: { length: 200 },
      groupMembership: { total: 0, included: 0, complete: true, reason: null },
    });
  });
});

describe('limitItems', () => {
  it.each([
    [3, undefined, { total: 3, included: 3, complete: true, reason: null }],
    [3, 2, { total: 3, included: 3, complete: true, reason: null }],
    [3, 9, { total: 9, included: 3, complete: false, reason: 'collection_limit_exceeded' }],
    [5, 5, { total: 5, included: 4, complete: false, reason: 'collection_limit_exceeded' }],
    [0, null, { total: 0, included: 0, complete: true, reason: null }],
  ])('of %d items of %s', (count, total, block) => {
    expect(limitItems(Array(count).fill('x'), total, 4).block).toEqual(block);
  });
});
