import { Module } from '@nestjs/common';
import { OrganizationExportRepository } from './organization-export.repository.js';
import { OrganizationExportRpc } from './organization-export.rpc.js';

@Module({ controllers: [OrganizationExportRpc], providers: [OrganizationExportRepository] })
export class OrganizationExportModule {}
