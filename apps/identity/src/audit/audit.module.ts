import { Module } from '@nestjs/common';
import { AuditExportService } from './audit-export.service.js';
import { AuditLogsController } from './audit-logs.controller.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditSealer } from './audit-sealer.js';
import { AuditRepository } from './audit.repository.js';
import { ChainVerificationService } from './chain-verification.service.js';
import { StandingCallers } from './standing-callers.js';

/** The audit trail: sealing, search, export, verification. */
@Module({
  controllers: [AuditLogsController],
  providers: [
    AuditRepository,
    AuditSealer,
    AuditLogsService,
    AuditExportService,
    ChainVerificationService,
    StandingCallers,
  ],
})
export class AuditModule {}
