import { ApiProperty } from '@nestjs/swagger';

/** The response to an action without a result of its own. */
export class DoneDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
}
