import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { DoneDto } from '@rmm/service-kit';
import { MfaEnabledDto } from '../../mfa/dto/mfa-enabled.dto.js';
import { DEVICE_TYPES, type DeviceType } from '../passkey.entity.js';

export class PasskeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the passkey' })
  id: string;
  @ApiProperty({ example: 'Chrome on Windows', description: 'Name of the passkey' })
  name: string;
  @ApiProperty({ enum: DEVICE_TYPES, description: '`multiDevice` passkeys may be synchronized between devices' })
  deviceType: DeviceType;
  @ApiProperty({ description: 'True while a copy is stored elsewhere, as of the last use' })
  backedUp: boolean;
  @ApiProperty({ type: [String], example: ['internal', 'hybrid'], description: 'How the authenticator can be reached' })
  transports: string[];
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the passkey was last used; null: never',
  })
  lastUsedAt: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the passkey was created' })
  createdAt: string;
}

export class PasskeyRenamedDto extends DoneDto {
  @ApiProperty({ type: PasskeyDto, description: 'The passkey' })
  passkey: PasskeyDto;
}

export class PasskeyRegisteredDto extends MfaEnabledDto {
  @ApiProperty({ type: PasskeyDto, description: 'The passkey' })
  passkey: PasskeyDto;
  @ApiPropertyOptional({ type: [String], description: 'With the first factor of the account; shown once' })
  recoveryCodes?: string[];
}
