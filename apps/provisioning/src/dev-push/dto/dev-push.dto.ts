import { ApiProperty } from '@nestjs/swagger';
import { DEV_PUSH_COMPONENTS, type DevPushComponent } from '../dev-push.entity.js';

export class DevPushDto {
  @ApiProperty({ type: String, format: 'uuid', description: 'The command in the next heartbeat of the agent' })
  commandId: string;

  @ApiProperty({ type: String, description: 'Shown once, valid for 5 minutes' })
  downloadToken: string;

  @ApiProperty({ type: String, description: 'SHA-256 of the file, 64 hex digits' })
  checksum: string;

  @ApiProperty({ type: String, description: 'Version of the build' })
  version: string;

  @ApiProperty({ enum: DEV_PUSH_COMPONENTS, description: 'Part of the agent that was pushed' })
  component: DevPushComponent;

  @ApiProperty({ type: String, format: 'uuid', description: 'Id of the agent' })
  agentId: string;

  @ApiProperty({ type: String, format: 'uuid', description: 'Id of the device' })
  deviceId: string;

  @ApiProperty({ type: Boolean, description: 'False: commands are sent with heartbeats' })
  wsSent: false;

  @ApiProperty({ type: String, format: 'uri', description: 'Address of the build' })
  downloadUrl: string;
}
