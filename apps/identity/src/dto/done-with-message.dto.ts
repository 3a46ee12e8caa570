import { ApiProperty } from '@nestjs/swagger';
import { DoneDto } from '@rmm/service-kit';

export class DoneWithMessageDto extends DoneDto {
  @ApiProperty({ description: 'A sentence to show to the user' })
  message: string;
}
