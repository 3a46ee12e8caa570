import { Module } from '@nestjs/common';
import { ORGANIZATION_SOURCE } from '@rmm/access';
import { PartnersModule } from '../partners/partners.module.js';
import { SitesRepository } from '../sites/sites.repository.js';
import { FirstOrganizationService } from './first-organization.service.js';
import { OrganizationDeletionService } from './organization-deletion.service.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';
import { OrganizationSecurityConsumer } from './organization-security.consumer.js';
import { OrganizationSecurityRepository } from './organization-security.repository.js';
import { OrganizationSecurityService } from './organization-security.service.js';
import { OrganizationsController } from './organizations.controller.js';
import { OrganizationsRepository } from './organizations.repository.js';
import { OrganizationsRpc } from './organizations.rpc.js';
import { OrganizationsService } from './organizations.service.js';
import { PartnersConsumer } from './partners.consumer.js';

/** Exports the repository of sites too: a partner starts with an organization and its site. */
@Module({
  imports: [PartnersModule],
  controllers: [OrganizationsController, OrganizationsRpc, OrganizationSecurityConsumer, PartnersConsumer],
  providers: [
    FirstOrganizationService,
    OrganizationDeletionService,
    OrganizationDirectoryRepository,
    OrganizationSecurityRepository,
    OrganizationSecurityService,
    OrganizationsRepository,
    OrganizationsService,
    SitesRepository,
    { provide: ORGANIZATION_SOURCE, useExisting: OrganizationDirectoryRepository },
  ],
  exports: [OrganizationsRepository, OrganizationsService, SitesRepository],
})
export class OrganizationsModule {}
