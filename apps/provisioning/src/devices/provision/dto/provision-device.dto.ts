import { ApiProperty } from '@nestjs/swagger';
import { IsName, IsOneOf, IsUuid } from '@rmm/validation';
import { AgentConfigDto } from '../../../agents/dto/agent-config.dto.js';
import { OS_TYPES, type OsType } from '../../device.entity.js';
import { DeviceDto } from '../../dto/device.dto.js';

export class ProvisionDeviceDto {
  @IsUuid({ optional: true, description: 'Organization callers may omit it' })
  orgId?: string;

  @IsUuid({ description: 'A site of the organization' })
  siteId!: string;

  @IsName({ example: 'front-desk-01', description: 'Not that of another device in use of the organization' })
  hostname!: string;

  @IsOneOf(OS_TYPES, { description: 'Operating system of the device' })
  osType!: OsType;

  @IsName({ optional: true, nullable: true, description: 'Name that users gave the device' })
  displayName?: string | null;
}

export class ProvisionCredentialsDto {
  @ApiProperty({ format: 'uri', description: 'GET it once, signed in' })
  fetch_url: string;

  @ApiProperty({ description: '43 base64url characters, shown here only' })
  fetch_token: string;

  @ApiProperty({ format: 'date-time', description: 'When the credentials expire' })
  expires_at: string;

  @ApiProperty({ type: Boolean, description: 'Always true: they can be fetched once' })
  single_use: true;
}

export class ProvisionedDeviceDto {
  @ApiProperty({ type: Boolean, description: 'Always true; a failure is an error response' })
  success: true;

  @ApiProperty({ type: DeviceDto, description: 'The new device' })
  device: DeviceDto;

  @ApiProperty({ type: ProvisionCredentialsDto, description: 'Where the agent fetches its identity' })
  credentials: ProvisionCredentialsDto;
}

/** Identity and settings of the agent of a provisioned device. The only response that contains the token. */
export class FetchedDeviceDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the agent' })
  agentId: string;

  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  deviceId: string;

  @ApiProperty({ example: 'agt_…', description: 'Bearer token of the agent; shown only once' })
  authToken: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the device' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the device' })
  siteId: string | null;

  @ApiProperty({ format: 'uri', description: 'Address of the fleet' })
  serverUrl: string;

  @ApiProperty({ type: AgentConfigDto, description: 'Settings for the agent' })
  config: AgentConfigDto;
}
