import { Module } from '@nestjs/common';
import { ExportCursorsService } from './export-cursors.service.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';

@Module({
  controllers: [ExportController],
  providers: [ExportService, ExportCursorsService],
})
export class ExportModule {}
