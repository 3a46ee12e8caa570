import { Module } from '@nestjs/common';
import { ImportJournalModule } from '../import-runs/journal/import-journal.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { ImportWriterService } from './import-writer.service.js';
import { ImportController } from './import.controller.js';
import { ImportRepository } from './import.repository.js';
import { ImportService } from './import.service.js';

@Module({
  imports: [ImportJournalModule, PartnersModule, OrganizationsModule],
  controllers: [ImportController],
  providers: [ImportService, ImportWriterService, ImportRepository],
  exports: [ImportService],
})
export class ImportModule {}
