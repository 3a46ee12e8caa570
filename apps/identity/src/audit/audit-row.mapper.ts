import { AUDIT_ENTRIES, type AuditEntries, type AuditEntry, type Envelope } from '@rmm/contracts';
import { redactDetails, oneLine } from '@rmm/messaging';
import { isUuid } from '@rmm/validation';
import type { AuditRow } from './audit-chain.js';
import { AUDIT_RESULTS } from './dto/audit-log.dto.js';

const ACTOR_TYPES = ['user', 'api_key', 'agent', 'system'];
const MAX_TEXT = 1_000;

/** Audit entries of one message. */
export interface ReceivedEntries {
  rows: Omit<AuditRow, 'sequence'>[];
  /** The number of those that are no audit entries. */
  unreadable: number;
}

/** Reads the entry of a message, or its several entries; one that cannot be read does not keep the others out. */
export function toAuditRows(envelope: Envelope): ReceivedEntries {
  const rows = envelopesOf(envelope).map(toAuditRow);
  const readable = rows.filter((row) => row !== null);
  return { rows: readable, unreadable: rows.length - readable.length };
}

/** Returns an envelope for each entry. */
function envelopesOf(envelope: Envelope): Envelope[] {
  if (envelope.type !== AUDIT_ENTRIES) return [envelope];
  const { entries } = Object(envelope.data) as Partial<AuditEntries>;
  if (!Array.isArray(entries) || entries.length === 0) return [envelope];
  return entries.map((data: unknown) => {
    const { id, orgId } = Object(data) as Pick<Envelope, 'id' | 'orgId'>;
    return { ...envelope, id, orgId, data };
  });
}

/**
 * Maps an entry of RMM_AUDIT to the row in the form in which the database returns it, so that what is hashed is what
 * will be read. Secrets are redacted again, because a service may have built its entries by hand.
 * @returns null for what is no audit entry
 */
function toAuditRow(envelope: Envelope): Omit<AuditRow, 'sequence'> | null {
  const { id, partnerId, orgId } = envelope;
  const at = Date.parse(envelope.timestamp);
  const data = envelope.data as Partial<AuditEntry> | null;
  if (!isUuid(id) || !isUuidOrNull(partnerId) || !isUuidOrNull(orgId) || Number.isNaN(at) || !isEntry(data))
    return null;
  const { actor } = data;
  return {
    id: id.toLowerCase(),
    partnerId: partnerId?.toLowerCase() ?? null,
    orgId: orgId?.toLowerCase() ?? null,
    timestamp: new Date(at).toISOString(),
    actorType: actor.type,
    actorId: lineOf(actor.id),
    actorEmail: lineOf(actor.email),
    action: oneLine(data.action, MAX_TEXT),
    resourceType: oneLine(data.resourceType, MAX_TEXT),
    resourceId: lineOf(data.resourceId),
    resourceName: lineOf(data.resourceName),
    details: redactDetails(data.details),
    ipAddress: lineOf(data.ipAddress),
    userAgent: lineOf(data.userAgent),
    result: data.result,
    errorMessage: lineOf(data.errorMessage),
    initiatedBy: lineOf(data.initiatedBy),
    requestId: lineOf(data.requestId),
  };
}

function isEntry(data: Partial<AuditEntry> | null): data is AuditEntry {
  if (!data) return false;
  const { actor, action, resourceType, details, result } = data;
  return (
    isText(action) &&
    isText(resourceType) &&
    typeof actor === 'object' &&
    ACTOR_TYPES.includes(actor?.type) &&
    typeof details === 'object' &&
    details !== null &&
    !Array.isArray(details) &&
    AUDIT_RESULTS.some((known) => known === result)
  );
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isUuidOrNull = (value: string | null): boolean => value === null || isUuid(value);
const lineOf = (value: unknown): string | null => (typeof value === 'string' ? oneLine(value, MAX_TEXT) : null);
