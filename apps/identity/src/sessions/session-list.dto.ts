import { ApiProperty } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../members/membership.js';
import { SESSION_METHODS, type SessionMethod } from './sessions.repository.js';

/** What a session acts as. */
export class SessionMembershipDto {
  @ApiProperty({ enum: ACCESS_SCOPES })
  scope: AccessScope;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  partnerId: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  orgId: string | null;
}

/** One session of the caller. */
export class SessionListItemDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ description: 'The user agent in plain words', example: 'Firefox on Windows' })
  device: string;
  @ApiProperty({ type: String, nullable: true, description: 'Of its last sign-in or refresh' })
  ipAddress: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Of its last sign-in or refresh' })
  userAgent: string | null;
  @ApiProperty({ enum: SESSION_METHODS, description: 'How its user signed in' })
  method: SessionMethod;
  @ApiProperty({ description: 'A second factor was verified' })
  mfa: boolean;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'Its last sign-in or refresh' })
  lastUsedAt: string;
  @ApiProperty({ format: 'date-time', description: 'When it ends unless it is refreshed' })
  expiresAt: string;
  @ApiProperty({ description: 'The session of this request' })
  current: boolean;
  @ApiProperty({ type: SessionMembershipDto })
  membership: SessionMembershipDto;
}
