import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { EraseOrganizationsJob } from './erase-organizations.job.js';
import { ErasureReportsService } from './erasure-reports.service.js';
import { OrganizationErasureController } from './organization-erasure.controller.js';
import { OrganizationErasureService } from './organization-erasure.service.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';
import { OrganizationErasuresRpc } from './organization-erasures.rpc.js';

/** Erasure of deleted organizations in every service. @see docs/reference/tenancy.md#erasure */
@Module({
  imports: [OrganizationsModule],
  controllers: [OrganizationErasureController, OrganizationErasuresRpc],
  providers: [EraseOrganizationsJob, ErasureReportsService, OrganizationErasureService, OrganizationErasuresRepository],
})
export class OrganizationErasureModule {}
