/** `data` of `access.changed`: every replica drops what it has cached of these users. */
export interface AccessChanged {
  userIds?: string[];
  /** Every user who has one of these roles. */
  roleIds?: string[];
  /** Every member of these tenants. */
  partnerIds?: string[];
  orgIds?: string[];
  reason: string;
}

/** `data` of `access.heartbeat` and `credential.heartbeat`, published every second by each replica of the owning service. */
export interface AccessHeartbeat {
  /** A random id of the publishing process. */
  publisher: string;
  /** Rises by one; a gap means a lost message. */
  sequence: number;
  intervalMs: number;
}

/** `data` of `access.keys-withdrawn`: every replica refuses access tokens that these keys signed. */
export interface SigningKeysWithdrawn {
  kids: string[];
}
