/**
 * Broadcast `access.changed`: forget what you know of these people.
 * A role or a tenant touches everybody who holds it.
 */
export interface AccessChanged {
  userIds?: string[];
  roleIds?: string[];
  partnerIds?: string[];
  orgIds?: string[];
  reason: string;
}

export const ACCESS_CHANGED = 'access.changed';

/** Broadcast `access.heartbeat`, each second from each replica of identity. */
export interface AccessHeartbeat {
  /** A random id of the publishing process. */
  publisher: string;
  /** Counts up by one; a gap means a lost message. */
  sequence: number;
  intervalMs: number;
}

export const ACCESS_HEARTBEAT = 'access.heartbeat';
