import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SessionDto } from '../sessions/session.dto.js';

/** An authenticator app that is shown but not yet confirmed. */
export class MfaSetupStartedDto {
  @ApiProperty({ description: 'Base32, for typing in' })
  secret: string;
  @ApiProperty({ example: 'otpauth://totp/...' })
  otpAuthUrl: string;
  @ApiProperty({ description: 'A PNG as a data URL' })
  qrCodeDataUrl: string;
  @ApiProperty({ type: [String], description: 'In force once the setup is confirmed' })
  recoveryCodes: string[];
}

/** A change of factors, and the session that was issued anew for it. */
export class MfaEnabledDto extends SessionDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'A sentence for users' })
  message: string;
}

export class MfaEnabledWithCodesDto extends MfaEnabledDto {
  @ApiProperty({ type: [String], description: 'Shown this once' })
  recoveryCodes: string[];
}

export class MfaDisabledDto extends MfaEnabledDto {
  @ApiPropertyOptional({ description: 'Only for clients that sent theirs in the body' })
  refreshToken?: string;
}

export class StepUpGrantedDto {
  @ApiProperty({ description: 'Good once, for the operation and session it was asked for' })
  stepUpGrantId: string;
  @ApiProperty({ type: 'integer', example: 300 })
  expiresInSeconds: number;
}
