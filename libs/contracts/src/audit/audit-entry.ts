import type { Actor } from '../envelope.js';
import type { AuditAction } from './audit-actions.js';

export type AuditResult = 'success' | 'failure' | 'denied';

/** An audit entry on its way to identity, which stores and seals it. @see docs/reference/audit.md */
export interface AuditEntry {
  actor: Actor;
  action: AuditAction;
  resourceType: string;
  resourceId: string | null;
  resourceName: string | null;
  details: Record<string, unknown>;
  ipAddress: string | null;
  userAgent: string | null;
  result: AuditResult;
  errorMessage: string | null;
  initiatedBy: string | null;
  requestId: string | null;
}
