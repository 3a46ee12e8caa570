import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { PrincipalKeysRepository } from './principal-keys.repository.js';
import { ServicePrincipalsController } from './service-principals.controller.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';
import { ServicePrincipalsService } from './service-principals.service.js';

@Module({
  imports: [ApiKeysModule],
  controllers: [ServicePrincipalsController],
  providers: [ServicePrincipalsService, ServicePrincipalsRepository, PrincipalKeysRepository],
})
export class ServicePrincipalsModule {}
