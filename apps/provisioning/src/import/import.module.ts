import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { ImportWriterService } from './import-writer.service.js';
import { ImportController } from './import.controller.js';
import { ImportRepository } from './import.repository.js';
import { ImportService } from './import.service.js';

@Module({
  imports: [PartnersModule, OrganizationsModule],
  controllers: [ImportController],
  providers: [ImportService, ImportWriterService, ImportRepository],
})
export class ImportModule {}
