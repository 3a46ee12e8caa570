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
  /** In force now: without stored wildcards, and cut to the principal's. */
  scopes: string[];
  rateLimit: number;
  /** ISO 8601 or null; for the predecessor of a rotated key the end of the overlap. */
  expiresAt: string | null;
  /** CIDRs the key works from; empty: from anywhere. */
  sourceCidrs: string[];
  /** What the creator is confined to, so is the key; null means no restriction. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  /** Rises with each rotation: uses of a key are counted for the key they were made with. */
  generation: number;
  /** `unauthorized`: its creator may no longer do there what the key may. */
  status: 'active' | 'revoked' | 'expired' | 'unauthorized';
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
  /** Always 1: a rotated partner key is a new record. */
  generation: number;
  status: 'active' | 'revoked' | 'expired' | 'disabled';
}

export type ResolvedKey = ResolvedApiKey | ResolvedPartnerKey;

export const CREDENTIALS_KEYS_RESOLVE = rpc<KeyResolveRequest, ResolvedKey | null>('credentials.keys.resolve');

export interface KeyUse {
  keyId: string;
  kind: ResolvedKey['kind'];
  generation: number;
  count: number;
  /** ISO 8601. */
  lastUsedAt: string;
}

/** Uses since the last flush, added to the stored counters. `batchId` makes a repeat harmless. */
export interface KeyUsageRequest {
  batchId: string;
  uses: KeyUse[];
}

export const CREDENTIALS_KEYS_RECORD_USAGE = rpc<KeyUsageRequest, { recorded: number }>(
  'credentials.keys.record-usage',
);
