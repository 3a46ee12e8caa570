import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { OrganizationExportController } from './organization-export.controller.js';
import { OrganizationExportRepository } from './organization-export.repository.js';
import { OrganizationExportService } from './organization-export.service.js';

/** Export of everything that is stored of one organization. @see docs/reference/tenancy.md#export */
@Module({
  imports: [OrganizationsModule],
  controllers: [OrganizationExportController],
  providers: [OrganizationExportRepository, OrganizationExportService],
})
export class OrganizationExportModule {}
