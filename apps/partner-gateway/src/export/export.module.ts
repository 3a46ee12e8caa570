import { Module } from '@nestjs/common';
import { ExportAudit } from './export-audit.js';
import { ExportCursors } from './export-cursors.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';

@Module({
  controllers: [ExportController],
  providers: [ExportService, ExportCursors, ExportAudit],
})
export class ExportModule {}
