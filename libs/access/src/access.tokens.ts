import type { AccessResolveRequest, AccessSnapshot, OrganizationState, ResolvedKey } from '@rmm/contracts';
import type { OutboxTransaction } from '@rmm/messaging';
import type { KeyObject } from 'node:crypto';

/** Where snapshots come from. Identity provides its own; others ask it by RPC. */
export interface AccessSource {
  /** @returns null when the user or the session is unknown */
  resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null>;
}

/** Provide an `AccessSource` under this token anywhere in the app to replace the RPC. */
export const ACCESS_SOURCE = Symbol('ACCESS_SOURCE');

/** The public keys that tokens may be signed with. */
export interface VerificationKeys {
  /**
   * @returns the ES256 public key, or null when no such key is in use
   * @throws UnavailableError  when that cannot be known now
   */
  find(kid: string): Promise<KeyObject | null>;
}

/** Provide `VerificationKeys` under this token to replace the JWKS of identity (identity itself does). */
export const VERIFICATION_KEYS = Symbol('VERIFICATION_KEYS');

/** Where key records come from. Credentials provides its own; others ask it by RPC. */
export interface KeySource {
  resolve(keyHash: Buffer): Promise<ResolvedKey | null>;
}

/** Provide a `KeySource` under this token to replace the RPC (credentials does). */
export const KEY_SOURCE = Symbol('KEY_SOURCE');

/** The record behind an agent token. */
export interface AgentRecord {
  agentId: string;
  deviceId: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
}

export interface AgentSource {
  /** @returns null when no living agent has this token */
  findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null>;
}

/** Provide an `AgentSource` under this token where `@AgentToken()` routes exist (provisioning). */
export const AGENT_SOURCE = Symbol('AGENT_SOURCE');

/** Where the directory learns of organizations it does not hold. */
export interface OrganizationSource {
  /** Those that exist, soft-deleted ones included. */
  get(orgIds: readonly string[]): Promise<OrganizationState[]>;
}

/** Provide an `OrganizationSource` under this token to answer from own tables (provisioning); no directory table then. */
export const ORGANIZATION_SOURCE = Symbol('ORGANIZATION_SOURCE');

/** Told of changes to the directory of organizations, in the transaction that takes them in. */
export interface OrganizationListener {
  organizationChanged(tx: OutboxTransaction, organization: OrganizationState): Promise<void>;
}

/** Provide an `OrganizationListener` under this token to act on changes of the directory (credentials). */
export const ORGANIZATION_LISTENER = Symbol('ORGANIZATION_LISTENER');
