import { IsFlag, IsName, IsNested, IsOneOf, IsText, IsUuid, OpenDocument } from '@rmm/validation';
import { OS_TYPES, type OsType } from '../../devices/device.entity.js';
import { HardwareInfoDto } from './hardware-info.dto.js';

/** Agents may be older or newer than the fleet: known fields are read, others ignored. */
@OpenDocument()
export class EnrollDto {
  @IsText({ min: 1, max: 255, description: '64 hex characters' })
  enrollmentKey!: string;

  @IsText({ max: 1_024, optional: true, nullable: true, description: 'Or header x-agent-enrollment-secret' })
  enrollmentSecret?: string | null;

  @IsUuid({ optional: true, nullable: true, description: 'Ignored when the key is pinned to a site' })
  siteId?: string | null;

  @IsName({ example: 'front-desk-01' })
  hostname!: string;

  @IsOneOf(OS_TYPES)
  osType!: OsType;

  @IsName()
  osVersion!: string;

  @IsName({ max: 64, example: 'amd64' })
  architecture!: string;

  @IsName({ max: 64, optional: true, nullable: true })
  agentVersion?: string | null;

  @IsName({ max: 64, optional: true, nullable: true })
  deviceRole?: string | null;

  @IsFlag({ optional: true, nullable: true })
  isVirtual?: boolean | null;

  @IsName({ max: 64, optional: true, nullable: true })
  virtualizationPlatform?: string | null;

  @IsNested(() => HardwareInfoDto, { optional: true, nullable: true })
  hardwareInfo?: HardwareInfoDto | null;
}
