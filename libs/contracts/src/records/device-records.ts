import { z } from 'zod';
import {
  day,
  flag,
  instant,
  integer,
  itemId,
  itemTotal,
  json,
  list,
  name,
  number,
  oneOf,
  optionalId,
  optionalSection,
  optionalUuid,
  section,
  text,
} from './record-fields.js';

export const ADDRESS_ASSIGNMENTS = ['dhcp', 'static', 'vpn', 'link-local', 'unknown'] as const;
export const NETWORK_EQUIPMENT_TYPES = ['printer', 'router', 'switch', 'firewall', 'access_point', 'nas'] as const;
export const EDGE_TYPES = [
  'organization_site',
  'site_device',
  'device_interface',
  'interface_address',
  'hyperv_host_vm',
  'network_topology',
  'device_link',
] as const;
export const EDGE_END_TYPES = [
  'organization',
  'site',
  'device',
  'interface',
  'address',
  'virtual_machine',
  'discovered_asset',
] as const;

const hardware = section({
  processor: section({ model: text(), cores: integer, threads: integer }),
  memory: section({ totalMb: number }),
  graphics: section({ model: text() }),
  motherboard: section({ manufacturer: text(), product: text(), version: text() }),
  firmware: section({ biosVersion: text() }),
});

const disk = z.object({ id: itemId, mountPoint: text(1_024), device: text(), fileSystem: text(64), totalGb: number });

const networkInterface = z.object({ id: itemId, name: text(), macAddress: text(64), primary: flag });

const address = z.object({
  id: itemId,
  interfaceId: optionalId,
  interfaceName: text(),
  address: z.string().min(1).max(64),
  family: text(16),
  assignment: oneOf(ADDRESS_ASSIGNMENTS),
  reservationEligible: flag,
  subnetMask: text(64),
  gateway: text(64),
  dnsServers: list(z.string().min(1).max(64)),
  active: flag,
  firstSeenAt: instant,
  deactivatedAt: instant,
});

const virtualMachine = z.object({
  id: itemId,
  externalId: text(),
  name: text(),
  generation: integer,
  memoryMb: number,
  processorCount: integer,
  rctEnabled: flag,
  passthroughDisks: json,
});

const warranty = optionalSection({ status: text(64), startsOn: day, endsOn: day, subscription: text() });

const networkEquipment = z.object({
  id: itemId,
  type: oneOf(NETWORK_EQUIPMENT_TYPES),
  name: text(),
  address: text(64),
  macAddress: text(64),
  manufacturer: text(),
  model: text(),
});

/** Hardware, disks and addresses of a device, or the network of a site. */
export const deviceInventoryRecord = z.discriminatedUnion('subjectType', [
  z.object({
    subjectType: z.literal('device'),
    deviceId: optionalUuid,
    hardware,
    disks: list(disk),
    interfaces: list(networkInterface),
    addresses: list(address),
    warranty,
    virtualMachines: list(virtualMachine),
    collections: section({
      disks: itemTotal,
      interfaces: itemTotal,
      addresses: itemTotal,
      virtualMachines: itemTotal,
    }),
  }),
  z.object({
    subjectType: z.literal('site'),
    siteSubjectId: optionalUuid,
    networkEquipment: list(networkEquipment),
    networkSegments: list(z.object({ id: itemId, cidr: text(64) })),
    collections: section({ networkEquipment: itemTotal, networkSegments: itemTotal }),
  }),
]);
export type ExportedDeviceInventory = z.output<typeof deviceInventoryRecord>;

export const deviceSoftwareRecord = z.object({
  subjectType: z.literal('device').default('device'),
  deviceId: optionalUuid,
  software: list(z.object({ id: itemId, name, version: text(), vendor: text(), installedOn: day, managed: flag })),
  collection: itemTotal,
});
export type ExportedDeviceSoftware = z.output<typeof deviceSoftwareRecord>;

const edgeEnd = z.object({ type: oneOf(EDGE_END_TYPES), id: itemId });

/** Relationships of a device, or with `siteSubjectId` of a site. */
export const deviceRelationshipsRecord = z.object({
  deviceId: optionalUuid,
  siteSubjectId: optionalUuid,
  edges: list(
    z.object({
      key: z.string().min(1).max(1_024),
      type: oneOf(EDGE_TYPES),
      from: edgeEnd,
      to: edgeEnd,
      metadata: z.preprocess((value) => value ?? {}, z.record(z.string(), z.unknown())),
    }),
  ),
  collection: itemTotal,
});
export type ExportedDeviceRelationships = z.output<typeof deviceRelationshipsRecord>;
