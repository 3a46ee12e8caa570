import {
  COLLECTION_LIMITS,
  type ExportedDevice,
  type ExportedDeviceInventory,
  type ExportedDeviceRelationships,
  type ExportedDeviceSoftware,
  PROVISIONING_EXPORT_DEVICE_INVENTORY,
  PROVISIONING_EXPORT_DEVICE_RELATIONSHIPS,
  PROVISIONING_EXPORT_DEVICE_SOFTWARE,
  PROVISIONING_EXPORT_DEVICES,
} from '@rmm/contracts';
import type { ExportResource } from '../export-record.mapper.js';
import { limitItems, pickFields } from './collection.js';

type Inventory<S extends 'device' | 'site'> = Extract<ExportedDeviceInventory, { subjectType: S }>;

const DISK = ['id', 'mountPoint', 'device', 'fileSystem', 'totalGb'] as const;
const INTERFACE = ['id', 'name', 'macAddress', 'primary'] as const;
const ADDRESS = [
  ...(['id', 'interfaceId', 'interfaceName', 'address', 'family', 'assignment', 'reservationEligible'] as const),
  ...(['subnetMask', 'gateway', 'active', 'firstSeenAt', 'deactivatedAt'] as const),
] as const;
const VIRTUAL_MACHINE = [
  ...(['id', 'externalId', 'name', 'generation', 'memoryMb', 'processorCount', 'rctEnabled'] as const),
  'passthroughDisks',
] as const;
const WARRANTY = ['status', 'startsOn', 'endsOn', 'subscription'] as const;
const EQUIPMENT = ['id', 'type', 'name', 'address', 'macAddress', 'manufacturer', 'model'] as const;
const SOFTWARE = ['id', 'name', 'version', 'vendor', 'installedOn', 'managed'] as const;

export const DEVICES: ExportResource<ExportedDevice> = {
  name: 'devices',
  defaultLimit: 100,
  hasSites: true,
  contract: PROVISIONING_EXPORT_DEVICES,
  fieldsOf: (device) => {
    const groups = limitItems(device.groupIds, device.groupTotal, COLLECTION_LIMITS.items, 'membership_limit_exceeded');
    return {
      hostname: device.hostname,
      displayName: device.displayName,
      type: {
        os: device.osType,
        role: device.deviceRole,
        virtual: device.isVirtual,
        virtualizationPlatform: device.virtualizationPlatform,
      },
      operatingSystem: { edition: device.osVersion, build: null, architecture: device.architecture },
      installation: { enrolledAt: device.enrolledAt },
      hardwareIdentity: pickFields(device, ['serialNumber', 'manufacturer', 'model']),
      stableIdentifiers: pickFields(device, ['assetTag', 'inventoryId', 'externalId']),
      tags: device.tags.slice(0, COLLECTION_LIMITS.tags),
      groupIds: groups.items,
      groupMembership: groups.block,
      linkGroupId: null,
      linkGroupRole: null,
    };
  },
};

export const DEVICE_INVENTORY: ExportResource<ExportedDeviceInventory> = {
  name: 'device-inventory',
  isMachineObserved: true,
  defaultLimit: 100,
  hasSites: true,
  contract: PROVISIONING_EXPORT_DEVICE_INVENTORY,
  fieldsOf: (inventory) => (inventory.subjectType === 'device' ? ofDevice(inventory) : ofSite(inventory)),
};

function ofDevice(inventory: Inventory<'device'>): object {
  const { hardware, warranty, collections } = inventory;
  const disks = limitItems(inventory.disks, collections.disks?.total, COLLECTION_LIMITS.items);
  const interfaces = limitItems(inventory.interfaces, collections.interfaces?.total, COLLECTION_LIMITS.items);
  const addresses = limitItems(inventory.addresses, collections.addresses?.total, COLLECTION_LIMITS.items);
  const machines = limitItems(inventory.virtualMachines, collections.virtualMachines?.total, COLLECTION_LIMITS.items);
  return {
    subjectType: 'device',
    deviceId: inventory.deviceId,
    hardware: {
      processor: pickFields(hardware.processor, ['model', 'cores', 'threads']),
      memory: pickFields(hardware.memory, ['totalMb']),
      graphics: pickFields(hardware.graphics, ['model']),
      motherboard: pickFields(hardware.motherboard, ['manufacturer', 'product', 'version']),
      firmware: pickFields(hardware.firmware, ['biosVersion']),
    },
    disks: disks.items.map((item) => pickFields(item, DISK)),
    interfaces: interfaces.items.map((item) => pickFields(item, INTERFACE)),
    addresses: addresses.items.map((item) => ({
      ...pickFields(item, ADDRESS),
      dnsServers: item.dnsServers.slice(0, COLLECTION_LIMITS.dnsServers),
    })),
    warranty: warranty && pickFields(warranty, WARRANTY),
    virtualMachines: machines.items.map((item) => pickFields(item, VIRTUAL_MACHINE)),
    collections: {
      disks: disks.block,
      interfaces: interfaces.block,
      addresses: addresses.block,
      virtualMachines: machines.block,
    },
  };
}

function ofSite(inventory: Inventory<'site'>): object {
  const { networkEquipment, networkSegments, collections } = inventory;
  const equipment = limitItems(networkEquipment, collections.networkEquipment?.total, COLLECTION_LIMITS.items);
  const segments = limitItems(networkSegments, collections.networkSegments?.total, COLLECTION_LIMITS.items);
  return {
    subjectType: 'site',
    siteSubjectId: inventory.siteSubjectId,
    networkEquipment: equipment.items.map((item) => pickFields(item, EQUIPMENT)),
    networkSegments: segments.items.map((item) => pickFields(item, ['id', 'cidr'])),
    collections: { networkEquipment: equipment.block, networkSegments: segments.block },
  };
}

export const DEVICE_SOFTWARE: ExportResource<ExportedDeviceSoftware> = {
  name: 'device-software',
  isMachineObserved: true,
  defaultLimit: 100,
  hasSites: true,
  contract: PROVISIONING_EXPORT_DEVICE_SOFTWARE,
  fieldsOf: ({ deviceId, software, collection }) => {
    const { items, block } = limitItems(software, collection?.total, COLLECTION_LIMITS.software);
    return {
      subjectType: 'device',
      deviceId,
      software: items.map((item) => pickFields(item, SOFTWARE)),
      collection: block,
    };
  },
};

export const DEVICE_RELATIONSHIPS: ExportResource<ExportedDeviceRelationships> = {
  name: 'device-relationships',
  isMachineObserved: true,
  defaultLimit: 100,
  hasSites: true,
  contract: PROVISIONING_EXPORT_DEVICE_RELATIONSHIPS,
  fieldsOf: ({ deviceId, siteSubjectId, edges, collection }) => {
    const { items, block } = limitItems(edges, collection?.total, COLLECTION_LIMITS.items);
    return {
      deviceId,
      siteSubjectId,
      edges: items.map(({ key, type, from, to, metadata }) => ({
        key,
        type,
        from: pickFields(from, ['type', 'id']),
        to: pickFields(to, ['type', 'id']),
        metadata,
      })),
      collection: block,
    };
  },
};
