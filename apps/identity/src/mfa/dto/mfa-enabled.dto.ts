import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SessionDto } from '../../sessions/dto/session.dto.js';

/** A change of factors with the session that replaces the caller's. */
export class MfaEnabledDto extends SessionDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({ description: 'A sentence to show to the user' })
  message: string;
}

export class MfaEnabledWithCodesDto extends MfaEnabledDto {
  @ApiProperty({ type: [String], description: 'Shown once' })
  recoveryCodes: string[];
}

export class MfaDisabledDto extends MfaEnabledDto {
  @ApiPropertyOptional({ description: 'Only for clients that sent theirs in the body' })
  refreshToken?: string;
}
