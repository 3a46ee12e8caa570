import { Module } from '@nestjs/common';
import { ExportRepository } from './export.repository.js';
import { ExportRpc } from './export.rpc.js';
import { ExportService } from './export.service.js';

@Module({ controllers: [ExportRpc], providers: [ExportService, ExportRepository] })
export class ExportModule {}
