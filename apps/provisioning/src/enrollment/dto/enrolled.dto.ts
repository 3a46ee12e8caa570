import { ApiProperty } from '@nestjs/swagger';
import { AgentConfigDto } from '../../agents/dto/agent-config.dto.js';

/** Identity and settings of a new agent. The only response that contains the token. */
export class EnrolledDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the agent' })
  agentId: string;

  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  deviceId: string;

  @ApiProperty({ example: 'agt_…', description: 'Bearer token of the agent; shown only once' })
  authToken: string;

  @ApiProperty({ type: String, nullable: true, description: 'Always null at present' })
  watchdogAuthToken: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Always null at present' })
  helperAuthToken: string | null;

  @ApiProperty({ format: 'uuid', description: 'Organization of the device' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the device' })
  siteId: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Always null at present' })
  backupServerUrl: string | null;

  @ApiProperty({ type: AgentConfigDto, description: 'Settings for the agent' })
  config: AgentConfigDto;

  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true, description: 'Always null at present' })
  mtls: object | null;

  @ApiProperty({ type: [String], description: 'Public keys that update manifests are signed with' })
  manifestTrustKeys: string[];

  @ApiProperty({ type: [String], description: 'Delegations of these keys' })
  manifestKeyDelegations: string[];
}
