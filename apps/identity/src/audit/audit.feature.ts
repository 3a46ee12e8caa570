import type { Feature } from '../feature.js';
import { AuditLogsController } from './audit-logs.controller.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditSealer } from './audit-sealer.js';
import { AuditRepository } from './audit.repository.js';

/** The audit trail: sealing, search, verification. */
export const auditFeature: Feature = {
  controllers: [AuditLogsController],
  providers: [AuditRepository, AuditSealer, AuditLogsService],
};
