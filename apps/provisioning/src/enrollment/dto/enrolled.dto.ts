import { ApiProperty } from '@nestjs/swagger';
import { AGENT_CONFIG } from '../../agents/agent-config.js';

/** What an agent needs to begin its work. The token is told once. */
export class EnrolledDto {
  @ApiProperty({ format: 'uuid' })
  agentId: string;
  @ApiProperty({ format: 'uuid' })
  deviceId: string;
  @ApiProperty({ example: 'agt_…' })
  authToken: string;
  @ApiProperty({ type: String, nullable: true })
  watchdogAuthToken = null;
  @ApiProperty({ type: String, nullable: true })
  helperAuthToken = null;
  @ApiProperty({ format: 'uuid' })
  orgId: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  siteId: string | null;
  @ApiProperty({ type: String, nullable: true })
  backupServerUrl = null;
  @ApiProperty({ type: 'object', additionalProperties: true })
  config = AGENT_CONFIG;
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  mtls = null;
  @ApiProperty({ type: [String] })
  manifestTrustKeys: string[] = [];
  @ApiProperty({ type: [String] })
  manifestKeyDelegations: string[] = [];

  constructor(given: Pick<EnrolledDto, 'agentId' | 'deviceId' | 'authToken' | 'orgId' | 'siteId'>) {
    this.agentId = given.agentId;
    this.deviceId = given.deviceId;
    this.authToken = given.authToken;
    this.orgId = given.orgId;
    this.siteId = given.siteId;
  }
}
