/** Broadcast `credential.changed`: drop these records from the key cache. */
export interface CredentialChanged {
  kind: 'api_key' | 'partner_key' | 'enrollment_key';
  keyIds: string[];
  /** SHA-256 of the keys, hex: what a cache is indexed by. Never the key. */
  keyHashes: string[];
  /** Every key of these tenants: what is known of the tenant itself has changed. */
  partnerIds?: string[];
  orgIds?: string[];
  reason: 'created' | 'updated' | 'rotated' | 'revoked' | 'expired' | 'principal_disabled' | 'tenant_changed';
}

export const CREDENTIAL_CHANGED = 'credential.changed';
