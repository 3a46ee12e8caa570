import { Module } from '@nestjs/common';
import { KeyLimitsModule } from '../key-limits/key-limits.module.js';
import { PartnerKeysRepository } from './partner-keys.repository.js';
import { PartnerKeysService } from './partner-keys.service.js';
import { PartnerPrincipalsController } from './partner-principals.controller.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';
import { PartnerPrincipalsService } from './partner-principals.service.js';

@Module({
  imports: [KeyLimitsModule],
  controllers: [PartnerPrincipalsController],
  providers: [PartnerPrincipalsService, PartnerKeysService, PartnerPrincipalsRepository, PartnerKeysRepository],
  exports: [PartnerPrincipalsRepository],
})
export class PartnerPrincipalsModule {}
