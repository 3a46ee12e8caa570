import { Module } from '@nestjs/common';
import { ExportRepository } from './export.repository.js';
import { ExportRpc } from './export.rpc.js';
import { ExportService } from './export.service.js';
import { RestampExportsJob } from './restamp-exports.job.js';
import { RestampRepository } from './restamp.repository.js';

@Module({
  controllers: [ExportRpc],
  providers: [ExportService, ExportRepository, RestampRepository, RestampExportsJob],
})
export class ExportModule {}
