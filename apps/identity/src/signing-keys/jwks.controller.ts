import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { JwksDto } from './dto/jwks.dto.js';
import { SigningKeysService } from './signing-keys.service.js';

@ApiTags('Authentication')
@Controller('auth/.well-known')
export class JwksController {
  constructor(private readonly keys: SigningKeysService) {}

  @Get('jwks.json')
  @Public()
  @Header('Cache-Control', 'max-age=300')
  @ApiOperation({ summary: 'Get the public keys of access tokens' })
  @ApiOkResponse({ type: JwksDto })
  jwks(): JwksDto {
    return this.keys.jwks;
  }
}
