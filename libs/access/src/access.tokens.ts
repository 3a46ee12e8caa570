import type { KeyObject } from 'node:crypto';
import type {
  AccessResolveRequest,
  AccessSnapshot,
  ListSinceRequest,
  OrganizationState,
  ResolvedKey,
} from '@rmm/contracts';
import type { OutboxTransaction } from '@rmm/messaging';

/** Source of access snapshots. Identity provides its own; the other services call identity by RPC. */
export interface AccessSource {
  /** @returns null when the user or the session is unknown */
  resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null>;
}

/** Provide an `AccessSource` under this token, in any module of the application, to replace the RPC. */
export const ACCESS_SOURCE = Symbol('ACCESS_SOURCE');

/** Public keys that verify the signatures of access tokens. */
export interface VerificationKeys {
  /**
   * @returns the ES256 public key, or null when no such key is in use
   * @throws UnavailableError  when the keys cannot be read
   */
  find(kid: string): Promise<KeyObject | null>;
  /** Reads the keys again, because one may have been withdrawn. */
  reload?(): Promise<void>;
  /** Adds a listener for the ids of keys that are no longer in use; tokens signed by them become invalid. */
  onWithdrawn?(listener: (kids: string[]) => void): void;
}

/** Provide `VerificationKeys` under this token to replace the JWKS of identity (identity itself does). */
export const VERIFICATION_KEYS = Symbol('VERIFICATION_KEYS');

/** Source of key records. Credentials provides its own; the other services call credentials by RPC. */
export interface KeySource {
  /** @returns null when no key has this hash */
  resolve(keyHash: Buffer): Promise<ResolvedKey | null>;
}

/** Provide a `KeySource` under this token to replace the RPC (credentials does). */
export const KEY_SOURCE = Symbol('KEY_SOURCE');

/** The record of an agent token. */
export interface AgentRecord {
  agentId: string;
  deviceId: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  /** True while the token is being replaced. */
  rotatesToken?: boolean;
}

/** Source of agent records. */
export interface AgentSource {
  /** @returns null when no active agent has this token */
  findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null>;
}

/** Provide an `AgentSource` under this token where `@AgentToken()` routes exist (provisioning). */
export const AGENT_SOURCE = Symbol('AGENT_SOURCE');

/** The record of a SCIM token that is neither expired nor revoked. */
export interface ScimTokenRecord {
  tokenId: string;
  /** The identity provider whose users and groups the token provisions. */
  providerId: string;
  partnerId: string;
  orgId: string;
  /** The organization and its partner are active. */
  tenantActive: boolean;
}

/** Source of SCIM tokens. */
export interface ScimTokenSource {
  /** @returns null when no valid token has this hash */
  findByTokenHash(tokenHash: Buffer): Promise<ScimTokenRecord | null>;
}

/** Provide a `ScimTokenSource` under this token where `@ScimToken()` routes exist (identity). */
export const SCIM_TOKEN_SOURCE = Symbol('SCIM_TOKEN_SOURCE');

/** Source of organizations that the directory table does not contain. */
export interface OrganizationSource {
  /** Returns the organizations that exist, including soft-deleted ones. */
  get(orgIds: readonly string[]): Promise<OrganizationState[]>;
  /** Returns a page of all of them, ordered by id. */
  listSince(request: ListSinceRequest): Promise<{ organizations: OrganizationState[]; next: string | null }>;
}

/** Provide an `OrganizationSource` under this token to read own tables (provisioning) instead of the directory table. */
export const ORGANIZATION_SOURCE = Symbol('ORGANIZATION_SOURCE');

/** The tenants that a change concerns. */
export interface ChangedTenants {
  partnerIds?: readonly string[];
  orgIds?: readonly string[];
}

/** Notified of changes of the tenant directories. */
export interface TenantListener {
  /** Called in the transaction that changes their rows. */
  tenantsStored(tx: OutboxTransaction, tenants: ChangedTenants): Promise<void>;
  /** Called on every replica when a change was broadcast, before its event arrives. */
  tenantsOutdated(tenants: ChangedTenants): void;
}

/** Provide a `TenantListener` under this token to act on changes of the directories (credentials, webhook-dispatcher). */
export const TENANT_LISTENER = Symbol('TENANT_LISTENER');
