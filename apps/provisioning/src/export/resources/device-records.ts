import {
  COLLECTION_LIMITS,
  type ExportedDevice,
  type ExportedDeviceInventory,
  type ExportedDeviceRelationships,
  type ExportedDeviceSoftware,
} from '@rmm/contracts';
import type { HardwareInfo } from '../../agents/reports/inventory-report.js';
import type { ExportRow } from '../export-page.js';
import type { RecordColumns } from '../record-pages.repository.js';
import { firstItems, itemIds } from './collections.js';
import { readNetwork, type ReportedAdapter } from './reported-network.js';

/** Read as JSON: `enrolledAt` has the offset and microseconds of the database. */
export type DeviceRow = ExportedDevice;
export interface InventoryRow extends RecordColumns {
  hardware: HardwareInfo | null;
  disks: { mountPoint: string; device?: string; fsType?: string; totalGb?: number }[] | null;
  adapters: ReportedAdapter[] | null;
}
export interface SoftwareRow extends RecordColumns {
  software: { name: string; version?: string; vendor?: string; installDate?: string; managed?: boolean }[] | null;
  total: number | null;
}
export type RelationshipsRow = RecordColumns & Pick<InventoryRow, 'adapters'>;
type Edge = ExportedDeviceRelationships['edges'][number];

const MAX_SOFTWARE_BYTES = 400_000;
const MAX_EDGES_BYTES = 400_000;

export const toDevice = (row: DeviceRow): ExportedDevice => ({
  hostname: row.hostname,
  displayName: row.displayName,
  osType: row.osType,
  osVersion: row.osVersion,
  architecture: row.architecture,
  deviceRole: row.deviceRole,
  isVirtual: row.isVirtual,
  virtualizationPlatform: row.virtualizationPlatform,
  enrolledAt: row.enrolledAt && new Date(row.enrolledAt).toISOString(),
  serialNumber: row.serialNumber,
  manufacturer: row.manufacturer,
  model: row.model,
  assetTag: row.assetTag,
  inventoryId: row.inventoryId,
  externalId: row.externalId,
  tags: row.tags,
  groupIds: row.groupIds,
  groupTotal: row.groupTotal,
});

/** Returns what was published, else what the agent reported. */
export function toDeviceInventory(row: InventoryRow & ExportRow): ExportedDeviceInventory {
  if (row.record) return row.record as ExportedDeviceInventory;
  const deviceId = row.deviceId ?? row.id;
  const diskId = itemIds(deviceId, 'disk');
  const disks = (row.disks ?? []).map(({ mountPoint, device, fsType, totalGb }) => ({
    id: diskId(mountPoint),
    mountPoint,
    device: device ?? null,
    fileSystem: fsType ?? null,
    totalGb: totalGb ?? null,
  }));
  const { interfaces, addresses } = readNetwork(deviceId, row.adapters ?? []);
  return {
    subjectType: 'device',
    deviceId,
    hardware: toHardware(row.hardware ?? {}),
    disks: firstItems(disks, COLLECTION_LIMITS.items),
    interfaces: firstItems(interfaces, COLLECTION_LIMITS.items),
    addresses: firstItems(addresses, COLLECTION_LIMITS.items),
    warranty: null,
    virtualMachines: [],
    collections: {
      disks: { total: disks.length },
      interfaces: { total: interfaces.length },
      addresses: { total: addresses.length },
      virtualMachines: { total: 0 },
    },
  };
}

type Hardware = Extract<ExportedDeviceInventory, { subjectType: 'device' }>['hardware'];
const toHardware = (of: HardwareInfo): Hardware => ({
  processor: { model: of.cpuModel ?? null, cores: of.cpuCores ?? null, threads: of.cpuThreads ?? null },
  memory: { totalMb: of.ramTotalMb ?? null },
  graphics: { model: of.gpuModel ?? null },
  motherboard: {
    manufacturer: of.motherboardManufacturer ?? null,
    product: of.motherboardProduct ?? null,
    version: of.motherboardVersion ?? null,
  },
  firmware: { biosVersion: of.biosVersion ?? null },
});

/** Returns what was published, else what the agent reported. */
export function toDeviceSoftware(row: SoftwareRow & ExportRow): ExportedDeviceSoftware {
  if (row.record) return row.record as ExportedDeviceSoftware;
  const deviceId = row.deviceId ?? row.id;
  const softwareId = itemIds(deviceId, 'software');
  const software = (row.software ?? []).map(({ name, version, vendor, installDate, managed }) => ({
    id: softwareId(name, version ?? ''),
    name,
    version: version ?? null,
    vendor: vendor ?? null,
    installedOn: installDate ?? null,
    managed: managed ?? null,
  }));
  return {
    subjectType: 'device',
    deviceId,
    software: firstItems(software, COLLECTION_LIMITS.software, MAX_SOFTWARE_BYTES),
    collection: { total: row.total ?? software.length },
  };
}

/** Returns what was published, else the organization, site, interfaces and addresses of the device. */
export function toDeviceRelationships(row: RelationshipsRow & ExportRow): ExportedDeviceRelationships {
  if (row.record) return row.record as ExportedDeviceRelationships;
  const deviceId = row.deviceId ?? row.id;
  const { interfaces, addresses } = readNetwork(deviceId, row.adapters ?? []);
  const edges = [
    ...(row.siteId === null
      ? []
      : [
          edge('organization_site', ['organization', row.orgId], ['site', row.siteId]),
          edge('site_device', ['site', row.siteId], ['device', deviceId]),
        ]),
    ...interfaces.map(({ id }) => edge('device_interface', ['device', deviceId], ['interface', id])),
    ...addresses.map(({ id, interfaceId }) =>
      edge('interface_address', ['interface', interfaceId ?? ''], ['address', id]),
    ),
  ];
  return {
    deviceId,
    siteSubjectId: null,
    edges: firstItems(edges, COLLECTION_LIMITS.items, MAX_EDGES_BYTES),
    collection: { total: edges.length },
  };
}

type EdgeEnd = [type: Edge['from']['type'], id: string];
const edge = (type: Edge['type'], [fromType, fromId]: EdgeEnd, [toType, toId]: EdgeEnd): Edge => ({
  key: `${type}:${fromId}:${toId}`,
  type,
  from: { type: fromType, id: fromId },
  to: { type: toType, id: toId },
  metadata: {},
});
