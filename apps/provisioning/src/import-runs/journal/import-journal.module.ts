import { Module } from '@nestjs/common';
import { ImportJournalRepository } from './import-journal.repository.js';
import { ImportJournalService } from './import-journal.service.js';

@Module({
  providers: [ImportJournalService, ImportJournalRepository],
  exports: [ImportJournalService],
})
export class ImportJournalModule {}
