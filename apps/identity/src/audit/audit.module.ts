import { Module } from '@nestjs/common';
import { AuditEntriesRepository } from './audit-entries.repository.js';
import { AuditLogsController } from './audit-logs.controller.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditNamesRepository } from './audit-names.repository.js';
import { AuditNamesService } from './audit-names.service.js';
import { AuditSealer } from './audit-sealer.consumer.js';
import { ChainVerificationService } from './chain-verification.service.js';

/** The audit trail: sealing, search, export, verification. */
@Module({
  exports: [AuditEntriesRepository, AuditNamesService],
  controllers: [AuditLogsController],
  providers: [
    AuditEntriesRepository,
    AuditLogsService,
    AuditNamesRepository,
    AuditNamesService,
    AuditSealer,
    ChainVerificationService,
  ],
})
export class AuditModule {}
