import { Module } from '@nestjs/common';
import { DefinitionExportsController } from './definition-exports.controller.js';
import { DeviceExportsController } from './device-exports.controller.js';
import { ExportCursorsService } from './export-cursors.service.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';
import { PageRecordsService } from './page-records.service.js';
import { RecordSchemasService } from './record-schemas.service.js';

@Module({
  controllers: [ExportController, DeviceExportsController, DefinitionExportsController],
  providers: [ExportService, ExportCursorsService, PageRecordsService, RecordSchemasService],
  exports: [PageRecordsService],
})
export class ExportModule {}
