import { ApiExtraModels, ApiProperty, refs } from '@nestjs/swagger';
import { ADDRESS_ASSIGNMENTS, EDGE_END_TYPES, EDGE_TYPES, NETWORK_EQUIPMENT_TYPES } from '@rmm/contracts';
import { ExportPageDto, RecordDto } from './export-page.dto.js';
import {
  ANY_JSON,
  NULLABLE_DAY,
  NULLABLE_FLAG,
  NULLABLE_ID,
  NULLABLE_INTEGER,
  NULLABLE_NUMBER,
  NULLABLE_TEXT,
  NULLABLE_TIME,
} from './field-options.js';

class CollectionDto {
  @ApiProperty({ type: 'integer', minimum: 0, description: 'Items that exist' })
  total: number;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Items of the record' })
  included: number;

  @ApiProperty({ description: 'True exactly when `included` equals `total`' })
  complete: boolean;

  @ApiProperty({
    ...NULLABLE_TEXT,
    enum: ['collection_limit_exceeded', 'membership_limit_exceeded'],
    description: 'Null when complete',
  })
  reason: string | null;
}

class DeviceTypeDto {
  @ApiProperty({ enum: ['windows', 'macos', 'linux'], description: 'Operating system' })
  os: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Role, such as workstation or server' })
  role: string | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True for a virtual machine' })
  virtual: boolean | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Platform of a virtual machine' })
  virtualizationPlatform: string | null;
}

class OperatingSystemDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name and version of the operating system' })
  edition: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Build number' })
  build: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Processor architecture' })
  architecture: string | null;
}

class InstallationDto {
  @ApiProperty({ ...NULLABLE_TIME, description: 'When the agent was enrolled' })
  enrolledAt: string | null;
}

class HardwareIdentityDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Serial number' })
  serialNumber: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Manufacturer' })
  manufacturer: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Model' })
  model: string | null;
}

class StableIdentifiersDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Value of the custom field `assetTag`' })
  assetTag: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Value of the custom field `inventoryId`' })
  inventoryId: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Value of the custom field `externalId`' })
  externalId: string | null;
}

export class DeviceRecordDto extends RecordDto {
  @ApiProperty({ description: 'Host name, as the agent reports it' })
  hostname: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name that users gave it' })
  displayName: string | null;

  @ApiProperty({ type: DeviceTypeDto, description: 'Operating system and role' })
  type: DeviceTypeDto;

  @ApiProperty({ type: OperatingSystemDto, description: 'Operating system in detail' })
  operatingSystem: OperatingSystemDto;

  @ApiProperty({ type: InstallationDto, description: 'When it was enrolled' })
  installation: InstallationDto;

  @ApiProperty({ type: HardwareIdentityDto, description: 'Who made it' })
  hardwareIdentity: HardwareIdentityDto;

  @ApiProperty({ type: StableIdentifiersDto, description: 'Custom fields with these keys' })
  stableIdentifiers: StableIdentifiersDto;

  @ApiProperty({ type: [String], maxItems: 200, description: 'Tags' })
  tags: string[];

  @ApiProperty({ type: [String], format: 'uuid', maxItems: 500, description: 'Groups that it is a member of' })
  groupIds: string[];

  @ApiProperty({ type: CollectionDto, description: 'Whether `groupIds` is complete' })
  groupMembership: CollectionDto;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Group of devices that are one machine' })
  linkGroupId: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Role in that group' })
  linkGroupRole: string | null;
}

class ProcessorDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Model' })
  model: string | null;

  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Cores' })
  cores: number | null;

  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Threads' })
  threads: number | null;
}

class MemoryDto {
  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Megabytes of memory' })
  totalMb: number | null;
}

class GraphicsDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Model' })
  model: string | null;
}

class MotherboardDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Manufacturer' })
  manufacturer: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Product name' })
  product: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Version of the board' })
  version: string | null;
}

class FirmwareDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Version of the firmware' })
  biosVersion: string | null;
}

class HardwareDto {
  @ApiProperty({ type: ProcessorDto, description: 'Processor' })
  processor: ProcessorDto;

  @ApiProperty({ type: MemoryDto, description: 'Memory' })
  memory: MemoryDto;

  @ApiProperty({ type: GraphicsDto, description: 'Graphics adapter' })
  graphics: GraphicsDto;

  @ApiProperty({ type: MotherboardDto, description: 'Main board' })
  motherboard: MotherboardDto;

  @ApiProperty({ type: FirmwareDto, description: 'Firmware' })
  firmware: FirmwareDto;
}

class DiskDto {
  @ApiProperty({ description: 'Id of the disk within the device' })
  id: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Where it is mounted' })
  mountPoint: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Device file or drive' })
  device: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'File system' })
  fileSystem: string | null;

  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Gigabytes of capacity' })
  totalGb: number | null;
}

class NetworkInterfaceDto {
  @ApiProperty({ description: 'Id of the interface within the device' })
  id: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the interface' })
  name: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Hardware address' })
  macAddress: string | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True for the interface of the default route' })
  primary: boolean | null;
}

class NetworkAddressDto {
  @ApiProperty({ description: 'Id of the address within the device' })
  id: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Interface that has it' })
  interfaceId: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of that interface' })
  interfaceName: string | null;

  @ApiProperty({ description: 'IP address' })
  address: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: '`ipv4` or `ipv6`' })
  family: string | null;

  @ApiProperty({ enum: ADDRESS_ASSIGNMENTS, description: 'How it was assigned' })
  assignment: string;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True when a DHCP reservation is possible' })
  reservationEligible: boolean | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Subnet mask' })
  subnetMask: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Default gateway' })
  gateway: string | null;

  @ApiProperty({ type: [String], maxItems: 20, description: 'Addresses of name servers' })
  dnsServers: string[];

  @ApiProperty({ ...NULLABLE_FLAG, description: 'False when the device no longer has it' })
  active: boolean | null;

  @ApiProperty({ ...NULLABLE_TIME, description: 'When it was first reported' })
  firstSeenAt: string | null;

  @ApiProperty({ ...NULLABLE_TIME, description: 'When it was no longer reported' })
  deactivatedAt: string | null;
}

class WarrantyDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Status, as the manufacturer reports it' })
  status: string | null;

  @ApiProperty({ ...NULLABLE_DAY, description: 'First day' })
  startsOn: string | null;

  @ApiProperty({ ...NULLABLE_DAY, description: 'Last day' })
  endsOn: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the service contract' })
  subscription: string | null;
}

class VirtualMachineDto {
  @ApiProperty({ description: 'Id of the machine within its host' })
  id: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Id that the virtualization platform gives it' })
  externalId: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the machine' })
  name: string | null;

  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Generation of the virtual hardware' })
  generation: number | null;

  @ApiProperty({ ...NULLABLE_NUMBER, description: 'Megabytes of memory' })
  memoryMb: number | null;

  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Virtual processors' })
  processorCount: number | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True when changed blocks are tracked' })
  rctEnabled: boolean | null;

  @ApiProperty({ ...ANY_JSON, description: 'Physical disks that it uses directly' })
  passthroughDisks: unknown;
}

class DeviceCollectionsDto {
  @ApiProperty({ type: CollectionDto, description: 'Completeness of `disks`' })
  disks: CollectionDto;

  @ApiProperty({ type: CollectionDto, description: 'Completeness of `interfaces`' })
  interfaces: CollectionDto;

  @ApiProperty({ type: CollectionDto, description: 'Completeness of `addresses`' })
  addresses: CollectionDto;

  @ApiProperty({ type: CollectionDto, description: 'Completeness of `virtualMachines`' })
  virtualMachines: CollectionDto;
}

/** Hardware, disks and addresses of a device. */
export class DeviceInventoryRecordDto extends RecordDto {
  @ApiProperty({ enum: ['device'], description: 'What the record describes' })
  subjectType: string;

  @ApiProperty({ format: 'uuid', description: 'Device of the record' })
  deviceId: string;

  @ApiProperty({ type: HardwareDto, description: 'Hardware' })
  hardware: HardwareDto;

  @ApiProperty({ type: [DiskDto], description: 'Disks' })
  disks: DiskDto[];

  @ApiProperty({ type: [NetworkInterfaceDto], description: 'Network interfaces' })
  interfaces: NetworkInterfaceDto[];

  @ApiProperty({ type: [NetworkAddressDto], description: 'IP addresses' })
  addresses: NetworkAddressDto[];

  @ApiProperty({ type: WarrantyDto, nullable: true, description: 'Warranty; null when unknown' })
  warranty: WarrantyDto | null;

  @ApiProperty({ type: [VirtualMachineDto], description: 'Virtual machines that it hosts' })
  virtualMachines: VirtualMachineDto[];

  @ApiProperty({ type: DeviceCollectionsDto, description: 'Whether each list is complete' })
  collections: DeviceCollectionsDto;
}

class NetworkEquipmentDto {
  @ApiProperty({ description: 'Id of the equipment within the site' })
  id: string;

  @ApiProperty({ enum: NETWORK_EQUIPMENT_TYPES, description: 'Type of equipment' })
  type: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the equipment' })
  name: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'IP address' })
  address: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Hardware address' })
  macAddress: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Manufacturer' })
  manufacturer: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Model' })
  model: string | null;
}

class NetworkSegmentDto {
  @ApiProperty({ description: 'Id of the segment within the site' })
  id: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Range of addresses' })
  cidr: string | null;
}

class SiteCollectionsDto {
  @ApiProperty({ type: CollectionDto, description: 'Completeness of `networkEquipment`' })
  networkEquipment: CollectionDto;

  @ApiProperty({ type: CollectionDto, description: 'Completeness of `networkSegments`' })
  networkSegments: CollectionDto;
}

/** Network of a site. */
export class SiteInventoryRecordDto extends RecordDto {
  @ApiProperty({ enum: ['site'], description: 'What the record describes' })
  subjectType: string;

  @ApiProperty({ format: 'uuid', description: 'Site of the record' })
  siteSubjectId: string;

  @ApiProperty({ type: [NetworkEquipmentDto], description: 'Routers, switches and the like' })
  networkEquipment: NetworkEquipmentDto[];

  @ApiProperty({ type: [NetworkSegmentDto], description: 'Network segments' })
  networkSegments: NetworkSegmentDto[];

  @ApiProperty({ type: SiteCollectionsDto, description: 'Whether each list is complete' })
  collections: SiteCollectionsDto;
}

class SoftwareItemDto {
  @ApiProperty({ description: 'Id of the item within the device' })
  id: string;

  @ApiProperty({ description: 'Name of the software' })
  name: string;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Version' })
  version: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Publisher' })
  vendor: string | null;

  @ApiProperty({ ...NULLABLE_DAY, description: 'Day of the installation' })
  installedOn: string | null;

  @ApiProperty({ ...NULLABLE_FLAG, description: 'True when the product keeps it current' })
  managed: boolean | null;
}

export class DeviceSoftwareRecordDto extends RecordDto {
  @ApiProperty({ enum: ['device'], description: 'What the record describes' })
  subjectType: string;

  @ApiProperty({ format: 'uuid', description: 'Device of the record' })
  deviceId: string;

  @ApiProperty({ type: [SoftwareItemDto], maxItems: 1000, description: 'Installed software' })
  software: SoftwareItemDto[];

  @ApiProperty({ type: CollectionDto, description: 'Whether the list is complete' })
  collection: CollectionDto;
}

class EdgeEndDto {
  @ApiProperty({ enum: EDGE_END_TYPES, description: 'What is related' })
  type: string;

  @ApiProperty({ description: 'Id of it' })
  id: string;
}

class EdgeDto {
  @ApiProperty({ description: 'Identifies the relationship within the record' })
  key: string;

  @ApiProperty({ enum: EDGE_TYPES, description: 'Type of the relationship' })
  type: string;

  @ApiProperty({ type: EdgeEndDto, description: 'Where it begins' })
  from: EdgeEndDto;

  @ApiProperty({ type: EdgeEndDto, description: 'Where it ends' })
  to: EdgeEndDto;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Details, as the type defines them' })
  metadata: object;
}

export class DeviceRelationshipsRecordDto extends RecordDto {
  @ApiProperty({ ...NULLABLE_ID, description: 'Null for relationships of a site' })
  deviceId: string | null;

  @ApiProperty({ ...NULLABLE_ID, description: 'Null for relationships of a device' })
  siteSubjectId: string | null;

  @ApiProperty({ type: [EdgeDto], maxItems: 500, description: 'Relationships' })
  edges: EdgeDto[];

  @ApiProperty({ type: CollectionDto, description: 'Whether the list is complete' })
  collection: CollectionDto;
}

export class DevicePageDto extends ExportPageDto {
  @ApiProperty({ type: [DeviceRecordDto], description: 'Records of the page' })
  data: DeviceRecordDto[];
}

const INVENTORIES = [DeviceInventoryRecordDto, SiteInventoryRecordDto];

@ApiExtraModels(...INVENTORIES)
export class DeviceInventoryPageDto extends ExportPageDto {
  @ApiProperty({ type: 'array', items: { oneOf: refs(...INVENTORIES) }, description: 'Records of the page' })
  data: (DeviceInventoryRecordDto | SiteInventoryRecordDto)[];
}

export class DeviceSoftwarePageDto extends ExportPageDto {
  @ApiProperty({ type: [DeviceSoftwareRecordDto], description: 'Records of the page' })
  data: DeviceSoftwareRecordDto[];
}

export class DeviceRelationshipsPageDto extends ExportPageDto {
  @ApiProperty({ type: [DeviceRelationshipsRecordDto], description: 'Records of the page' })
  data: DeviceRelationshipsRecordDto[];
}
