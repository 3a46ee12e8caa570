import { rpc } from './rpc-contract.js';

/** SHA-256 of the presented key, hex. The raw key never leaves the service that received it. */
export interface KeyResolveRequest {
  keyHash: string;
}

export interface ResolvedApiKey {
  kind: 'api_key';
  keyId: string;
  orgId: string;
  partnerId: string;
  /** In force now: cut to the principal's, empty when the creator lost what they need. */
  scopes: string[];
  rateLimit: number;
  /** ISO 8601 or null. */
  expiresAt: string | null;
  status: 'active' | 'revoked' | 'expired';
  createdBy: string | null;
  principalId: string | null;
}

export interface ResolvedPartnerKey {
  kind: 'partner_key';
  keyId: string;
  principalId: string;
  partnerId: string;
  scopes: string[];
  rateLimit: number;
  /** The earlier end of key and principal; ISO 8601 or null. */
  expiresAt: string | null;
  sourceCidrs: string[];
  status: 'active' | 'revoked' | 'expired' | 'disabled';
}

export type ResolvedKey = ResolvedApiKey | ResolvedPartnerKey;

export const CREDENTIALS_KEYS_RESOLVE = rpc<KeyResolveRequest, ResolvedKey | null>('credentials.keys.resolve');

/** Uses since the last flush, added to the stored counters. `batchId` makes a repeat harmless. */
export interface KeyUsageRequest {
  batchId: string;
  uses: { keyId: string; kind: ResolvedKey['kind']; count: number; lastUsedAt: string }[];
}

export const CREDENTIALS_KEYS_RECORD_USAGE = rpc<KeyUsageRequest, { recorded: number }>(
  'credentials.keys.record-usage',
);
