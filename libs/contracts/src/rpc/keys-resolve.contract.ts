import { z } from 'zod';
import { sha256Hex, timestamp, uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

export interface ResolvedApiKey {
  kind: 'api_key';
  keyId: string;
  orgId: string;
  partnerId: string;
  /** In force now: without stored wildcards, reduced to those of the principal. */
  scopes: string[];
  rateLimit: number;
  /** ISO 8601 or null; for the predecessor of a rotated key the end of the overlap. */
  expiresAt: string | null;
  /** Milliseconds until then when the record was read, by the clock of the database; null without an expiry. */
  expiresInMs: number | null;
  /** CIDRs the key may be used from; empty means from anywhere. */
  sourceCidrs: string[];
  /** The restriction of its creator; null means no restriction. */
  siteIds: string[] | null;
  deviceGroupIds: string[] | null;
  /** Rises with each rotation, so that uses are counted for the key they were made with. */
  generation: number;
  /** `unauthorized`: its creator may no longer do what the key allows. */
  status: 'active' | 'revoked' | 'expired' | 'unauthorized';
  createdBy: string | null;
  principalId: string | null;
}

export interface ResolvedPartnerKey {
  kind: 'partner_key';
  keyId: string;
  keyName: string;
  /** The first 18 characters of the key. */
  keyPrefix: string;
  principalId: string;
  principalName: string;
  partnerId: string;
  scopes: string[];
  rateLimit: number;
  /** The earlier end of key and principal; ISO 8601 or null. */
  expiresAt: string | null;
  /** Milliseconds until then when the record was read, by the clock of the database; null without an expiry. */
  expiresInMs: number | null;
  sourceCidrs: string[];
  /** Always 1: a rotated partner key is a new record. */
  generation: number;
  status: 'active' | 'revoked' | 'expired' | 'disabled';
}

export type ResolvedKey = ResolvedApiKey | ResolvedPartnerKey;

/** Resolves a presented key by its digest; null when there is no such key. The raw key never leaves the receiving service. */
export const CREDENTIALS_KEYS_RESOLVE = rpc('credentials.keys.resolve', {
  request: z.object({ keyHash: sha256Hex }),
  reply: replyOf<ResolvedKey | null>(),
  idempotent: true,
});
export type KeyResolveRequest = RpcRequest<typeof CREDENTIALS_KEYS_RESOLVE>;

const keyUse = z.object({
  keyId: uuid,
  kind: z.enum(['api_key', 'partner_key']),
  generation: z.int().min(1),
  count: z.int().min(1).max(1_000_000_000),
  lastUsedAt: timestamp,
});
export type KeyUse = z.infer<typeof keyUse>;

/** Adds the uses since the last flush to the stored counters. A repeated `batchId` changes nothing. */
export const CREDENTIALS_KEYS_RECORD_USAGE = rpc('credentials.keys.record-usage', {
  request: z.object({ batchId: uuid, uses: z.array(keyUse).max(10_000) }),
  reply: replyOf<{ recorded: number }>(),
  idempotent: true,
});
export type KeyUsageRequest = RpcRequest<typeof CREDENTIALS_KEYS_RECORD_USAGE>;
