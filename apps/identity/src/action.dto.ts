import { ApiProperty } from '@nestjs/swagger';

/** The answer to an action that has nothing else to say. @see CONTRACT.md 1.2 */
export class DoneDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
}

export class DoneWithMessageDto extends DoneDto {
  @ApiProperty({ description: 'A sentence for users' })
  message: string;
}
