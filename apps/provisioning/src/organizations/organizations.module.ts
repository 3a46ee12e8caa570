import { ORGANIZATION_SOURCE } from '@rmm/access';
import { Module } from '@nestjs/common';
import { PartnersModule } from '../partners/partners.module.js';
import { FirstOrganization } from './first-organization.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';
import { OrganizationSecurityConsumer } from './organization-security.consumer.js';
import { OrganizationSecurityRepository } from './organization-security.repository.js';
import { OrganizationsController } from './organizations.controller.js';
import { OrganizationsRepository } from './organizations.repository.js';
import { OrganizationsRpc } from './organizations.rpc.js';
import { OrganizationsService } from './organizations.service.js';
import { SecurityPolicies } from './security-policies.js';

@Module({
  imports: [PartnersModule],
  controllers: [OrganizationsController, OrganizationsRpc, OrganizationSecurityConsumer],
  providers: [
    OrganizationsService,
    OrganizationsRepository,
    FirstOrganization,
    OrganizationDirectoryRepository,
    OrganizationSecurityRepository,
    SecurityPolicies,
    { provide: ORGANIZATION_SOURCE, useExisting: OrganizationDirectoryRepository },
  ],
  exports: [OrganizationsRepository, FirstOrganization],
})
export class OrganizationsModule {}
