import { ApiProperty } from '@nestjs/swagger';
import type { AccessScope } from '@rmm/contracts';
import { ACCESS_SCOPES } from '../../members/membership.types.js';
import { SESSION_METHODS, type SessionMethod } from '../session-family.entity.js';

/** The membership that a session acts in. */
export class SessionMembershipDto {
  @ApiProperty({
    enum: ACCESS_SCOPES,
    description: 'Whether it covers the whole system, a partner or one organization',
  })
  scope: AccessScope;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Partner of the membership' })
  partnerId: string | null;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Organization of the membership' })
  orgId: string | null;
}

/** One session of the caller. */
export class SessionListItemDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the session' })
  id: string;
  @ApiProperty({ description: 'Browser and operating system of the user agent', example: 'Firefox on Windows' })
  device: string;
  @ApiProperty({ type: String, nullable: true, description: 'IP address of the last sign-in or refresh' })
  ipAddress: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'User agent of the last sign-in or refresh' })
  userAgent: string | null;
  @ApiProperty({ enum: SESSION_METHODS, description: 'How the user signed in' })
  method: SessionMethod;
  @ApiProperty({ description: 'True when a second factor was verified' })
  mfa: boolean;
  @ApiProperty({ format: 'date-time', description: 'When the session was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'Time of the last sign-in or refresh' })
  lastUsedAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the session ends unless it is refreshed' })
  expiresAt: string;
  @ApiProperty({ description: 'True for the session of this request' })
  current: boolean;
  @ApiProperty({ type: SessionMembershipDto, description: 'The membership of the session' })
  membership: SessionMembershipDto;
}
