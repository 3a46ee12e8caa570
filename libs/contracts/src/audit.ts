import type { Actor } from './envelope.js';

export type AuditResult = 'success' | 'failure' | 'denied';

/**
 * One audit row on its way to identity (`data` of an envelope on RMM_AUDIT).
 * @see CONTRACT.md 9
 */
export interface AuditEntry {
  actor: Actor;
  action: string;
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
