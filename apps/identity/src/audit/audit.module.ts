import { Module } from '@nestjs/common';
import { AuditEntriesRepository } from './audit-entries.repository.js';
import { AuditLogsController } from './audit-logs.controller.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditSealer } from './audit-sealer.consumer.js';
import { ChainVerificationService } from './chain-verification.service.js';

/** The audit trail: sealing, search, export, verification. */
@Module({
  controllers: [AuditLogsController],
  providers: [AuditEntriesRepository, AuditLogsService, AuditSealer, ChainVerificationService],
})
export class AuditModule {}
