import { Module } from '@nestjs/common';
import { AccessSourceModule } from '../access/access-source.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { OrganizationExportRepository } from './organization-export.repository.js';
import { OrganizationExportRpc } from './organization-export.rpc.js';
import { OrganizationExportService } from './organization-export.service.js';

@Module({
  imports: [AccessSourceModule, AuditModule],
  controllers: [OrganizationExportRpc],
  providers: [OrganizationExportRepository, OrganizationExportService],
})
export class OrganizationExportModule {}
