import { ApiProperty } from '@nestjs/swagger';
import { AVATAR_MIME } from '../avatar-image.js';

export class AvatarDto {
  @ApiProperty({ description: 'Changes with each upload' })
  avatarUrl: string;
  @ApiProperty({ type: 'integer', description: 'Bytes, as stored' })
  size: number;
  @ApiProperty({ enum: [AVATAR_MIME], description: 'Every upload is converted' })
  mime: string;
  @ApiProperty({ format: 'date-time', description: 'When the picture was uploaded' })
  updatedAt: string;
}

export class NoAvatarDto {
  @ApiProperty({ type: String, nullable: true, enum: [null], description: 'Always null' })
  avatarUrl: null;
}
