import { ApiProperty } from '@nestjs/swagger';
import { AgentConfigDto } from '../../agents/dto/agent-config.dto.js';

/** Identity and settings of a new agent. The only response that contains the token. */
export class EnrolledDto {
  @ApiProperty({ format: 'uuid' })
  agentId: string;

  @ApiProperty({ format: 'uuid' })
  deviceId: string;

  @ApiProperty({ example: 'agt_…' })
  authToken: string;

  @ApiProperty({ type: String, nullable: true })
  watchdogAuthToken: string | null;

  @ApiProperty({ type: String, nullable: true })
  helperAuthToken: string | null;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  siteId: string | null;

  @ApiProperty({ type: String, nullable: true })
  backupServerUrl: string | null;

  @ApiProperty({ type: AgentConfigDto })
  config: AgentConfigDto;

  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  mtls: object | null;

  @ApiProperty({ type: [String] })
  manifestTrustKeys: string[];

  @ApiProperty({ type: [String] })
  manifestKeyDelegations: string[];
}
