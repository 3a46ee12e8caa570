import { ApiProperty } from '@nestjs/swagger';

/** The answer to an action. @see CONTRACT.md 1.2 */
export class DoneWithMessageDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;

  @ApiProperty({ description: 'A sentence for people' })
  message: string;
}
