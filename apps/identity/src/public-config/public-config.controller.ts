import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PublicConfigDto } from './dto/public-config.dto.js';

@ApiTags('Configuration')
@Controller('config')
export class PublicConfigController {
  constructor(@Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig) {}

  @Get()
  @Public()
  @ApiOperation({ summary: 'Get the configuration that clients need before login' })
  @ApiOkResponse({ type: PublicConfigDto })
  getConfig(): PublicConfigDto {
    return {
      features: { billing: false, support: false },
      cfAccessLogin: { enabled: false },
      registration: { enabled: this.config.registrationEnabled },
      softwarePackages: { uploadsEnabled: false },
      mfa: { enabled: this.config.mfa.enabled },
    };
  }
}
