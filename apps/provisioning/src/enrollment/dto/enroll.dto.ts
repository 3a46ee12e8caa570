import type { ApiPropertyOptions } from '@nestjs/swagger';
import { field, IsFlag, IsName, IsOneOf, IsText, IsUuid, OpenDocument } from '@rmm/validation';
import { HARDWARE, type HardwareInfo } from '../../agents/reports/inventory-report.js';
import { readFields, schemaOf } from '../../agents/reports/reported-fields.js';
import { OS_TYPES, type OsType } from '../../devices/device.entity.js';

/** Agents may be older or newer than the fleet: known fields are read, others ignored. */
@OpenDocument()
export class EnrollDto {
  @IsText({ min: 1, max: 255, description: '64 hex characters' })
  enrollmentKey!: string;

  @IsText({ max: 1_024, optional: true, nullable: true, description: 'Or header x-agent-enrollment-secret' })
  enrollmentSecret?: string | null;

  @IsUuid({ optional: true, nullable: true, description: 'Ignored when the key is pinned to a site' })
  siteId?: string | null;

  @IsName({ example: 'front-desk-01', description: 'Host name of the device' })
  hostname!: string;

  @IsOneOf(OS_TYPES, { description: 'Operating system of the device' })
  osType!: OsType;

  @IsName({ description: 'Version of the operating system' })
  osVersion!: string;

  @IsName({ max: 64, example: 'amd64', description: 'Processor architecture' })
  architecture!: string;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Version of the agent' })
  agentVersion?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Role of the device, such as server or workstation' })
  deviceRole?: string | null;

  @IsFlag({ optional: true, nullable: true, description: 'Whether it is a virtual machine' })
  isVirtual?: boolean | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Hypervisor of a virtual machine' })
  virtualizationPlatform?: string | null;

  @field({
    optional: true,
    nullable: true,
    description: 'Hardware of the device',
    read: (value) => (value == null ? value : readFields(HARDWARE, value, 'hardwareInfo')),
    api: schemaOf(HARDWARE) as ApiPropertyOptions,
  })
  hardwareInfo?: HardwareInfo | null;
}
