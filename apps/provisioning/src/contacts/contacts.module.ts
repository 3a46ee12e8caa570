import { Module } from '@nestjs/common';
import { ImportJournalModule } from '../import-runs/journal/import-journal.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { ContactsController } from './contacts.controller.js';
import { ContactsRepository } from './contacts.repository.js';
import { ContactsService } from './contacts.service.js';
import { ContactImportController } from './import/contact-import.controller.js';
import { ContactImportRepository } from './import/contact-import.repository.js';
import { ContactImportService } from './import/contact-import.service.js';

@Module({
  imports: [ImportJournalModule, OrganizationsModule],
  controllers: [ContactsController, ContactImportController],
  providers: [ContactsService, ContactsRepository, ContactImportService, ContactImportRepository],
  exports: [ContactsRepository, ContactImportService],
})
export class ContactsModule {}
