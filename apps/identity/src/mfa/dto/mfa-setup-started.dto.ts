import { ApiProperty } from '@nestjs/swagger';

/** An authenticator app that is not confirmed yet. */
export class MfaSetupStartedDto {
  @ApiProperty({ description: 'Base32, for manual input' })
  secret: string;
  @ApiProperty({ example: 'otpauth://totp/...', description: 'Address for authenticator apps, shown as a QR code' })
  otpAuthUrl: string;
  @ApiProperty({ description: 'A PNG as a data URL' })
  qrCodeDataUrl: string;
  @ApiProperty({ type: [String], description: 'Valid once the setup is confirmed' })
  recoveryCodes: string[];
}
