/** `data` of `credential.changed`: every replica drops these records from its key cache. */
export interface CredentialChanged {
  kind: 'api_key' | 'partner_key' | 'enrollment_key';
  keyIds: string[];
  /** SHA-256 of the keys, hex, by which caches are indexed; never the key. */
  keyHashes: string[];
  /** All keys of these tenants, whose own state changed. */
  partnerIds?: string[];
  orgIds?: string[];
  reason: 'created' | 'updated' | 'rotated' | 'revoked' | 'expired' | 'principal_disabled' | 'tenant_changed';
}
