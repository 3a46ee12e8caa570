/**
 * `data` of `access.changed`: every replica drops what it has cached of these users, roles and tenants. At least one of
 * the four lists is set.
 */
export interface AccessChanged {
  userIds?: string[];
  /** Every user who has one of these roles. */
  roleIds?: string[];
  /** Whole tenants: their status, limits and every member and key. */
  partnerIds?: string[];
  orgIds?: string[];
  /** Restricts the change to one partner: entries of other partners stay cached. Absent: of any partner. */
  partnerId?: string;
  /** Restricts the change to one organization of the partner. */
  orgId?: string;
  reason: string;
}

/**
 * `data` of `access.heartbeat`, `credential.heartbeat` and `organization.heartbeat`, published every second by each
 * replica of the owning service.
 */
export interface AccessHeartbeat {
  /** A random id of the publishing process. */
  publisher: string;
  /** Rises by one; a gap means a lost message. */
  sequence: number;
  intervalMs: number;
}
