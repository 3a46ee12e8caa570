import { Module } from '@nestjs/common';
import { AuditChainRepository } from './audit-chain.repository.js';
import { AuditLogsController } from './audit-logs.controller.js';
import { AuditLogsRepository } from './audit-logs.repository.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditSealer } from './audit-sealer.consumer.js';
import { ChainVerificationService } from './chain-verification.service.js';

/** The audit trail: sealing, search, export, verification. */
@Module({
  controllers: [AuditLogsController],
  providers: [AuditChainRepository, AuditLogsRepository, AuditLogsService, AuditSealer, ChainVerificationService],
})
export class AuditModule {}
