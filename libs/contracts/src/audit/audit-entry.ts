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

/** The type of a message of several entries. The type of a message of one entry is its action. */
export const AUDIT_ENTRIES = 'audit.entries';

/** `data` of `audit.entries`: the entries of one import or undo, with the partner and the time of the envelope. */
export interface AuditEntries {
  entries: IdentifiedAuditEntry[];
}

/** An entry of several in one message. The id is a UUID, by which a repeated message is recognized. */
export interface IdentifiedAuditEntry extends AuditEntry {
  id: string;
  orgId: string | null;
}
