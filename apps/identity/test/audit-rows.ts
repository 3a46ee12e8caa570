import { randomUUID } from 'node:crypto';
import type { AuditRow } from '../src/audit/audit-chain.js';

type Unsealed = Omit<AuditRow, 'sequence'>;

const EPOCH_MS = Date.parse('2026-11-01T00:00:00.000Z');

/** An audit row as the sealer takes it; `minute` counts from the first of November. */
export const auditRow = (partnerId: string | null, minute: number, changes: Partial<Unsealed> = {}): Unsealed => ({
  id: randomUUID(),
  partnerId,
  orgId: null,
  timestamp: new Date(EPOCH_MS + minute * 60_000).toISOString(),
  actorType: 'user',
  actorId: 'member',
  actorEmail: 'member@users.test',
  action: 'thing.update',
  resourceType: 'thing',
  resourceId: `thing-${minute}`,
  resourceName: `Thing ${minute}`,
  details: { minute },
  ipAddress: '192.0.2.1',
  userAgent: 'spec',
  result: 'success',
  errorMessage: null,
  initiatedBy: 'member',
  requestId: 'request',
  ...changes,
});

export const minuteOf = (minute: number): string => new Date(EPOCH_MS + minute * 60_000).toISOString();
