import { ApiPropertyOptional } from '@nestjs/swagger';
import { DoneWithMessageDto } from '../../dto/done-with-message.dto.js';
import { TokensDto } from '../../sessions/dto/session.dto.js';

export class PhoneConfirmedDto extends DoneWithMessageDto {
  @ApiPropertyOptional({ type: TokensDto, description: 'When the number of the active SMS factor changed' })
  tokens?: TokensDto;
  @ApiPropertyOptional({ description: 'The value of the cookie service_csrf_token' })
  csrfToken?: string;
}
