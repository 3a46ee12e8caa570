import { Module } from '@nestjs/common';
import { ExportRepository } from './export.repository.js';
import { ExportRpc } from './export.rpc.js';
import { ExportService } from './export.service.js';
import { FieldValuePagesRepository } from './field-value-pages.repository.js';
import { RecordPagesRepository } from './record-pages.repository.js';
import { ExportRecordsConsumer } from './records/export-records.consumer.js';
import { ExportRecordsRepository } from './records/export-records.repository.js';
import { ExportRecordsService } from './records/export-records.service.js';
import { PurgeExportRecordsJob } from './records/purge-export-records.job.js';
import { RestampExportsJob } from './restamp-exports.job.js';
import { RestampRepository } from './restamp.repository.js';

@Module({
  controllers: [ExportRpc, ExportRecordsConsumer],
  providers: [
    ExportService,
    ExportRepository,
    RecordPagesRepository,
    FieldValuePagesRepository,
    RestampRepository,
    RestampExportsJob,
    ExportRecordsService,
    ExportRecordsRepository,
    PurgeExportRecordsJob,
  ],
})
export class ExportModule {}
