import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { KeyLimitsModule } from '../key-limits/key-limits.module.js';
import { PrincipalKeysRepository } from './principal-keys.repository.js';
import { ServicePrincipalsController } from './service-principals.controller.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';
import { ServicePrincipalsService } from './service-principals.service.js';

@Module({
  imports: [ApiKeysModule, KeyLimitsModule],
  controllers: [ServicePrincipalsController],
  providers: [ServicePrincipalsService, ServicePrincipalsRepository, PrincipalKeysRepository],
})
export class ServicePrincipalsModule {}
