import { Controller, Get, Header } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { SigningKeys } from './signing-keys.service.js';

@ApiTags('Authentication')
@Controller('auth/.well-known')
export class JwksController {
  constructor(private readonly keys: SigningKeys) {}

  @Get('jwks.json')
  @Public()
  @Header('Cache-Control', 'max-age=300')
  @ApiOperation({ summary: 'Public keys of access tokens' })
  jwks() {
    return this.keys.jwks;
  }
}
