import type { AccessScope, Actor } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import type { TenantContext } from '@rmm/persistence';

/** Who makes this request. Every kind names an actor for the audit trail and carries its tenant context. */
export type Caller = UserCaller | ApiKeyCaller | PartnerKeyCaller | AgentCaller;

interface KnownCaller {
  readonly actor: Actor;
  /** What row-level security matches against. */
  readonly tenant: TenantContext;
  readonly partnerId: string | null;
  readonly orgId: string | null;
}

/** A person with an access token. */
export interface UserCaller extends KnownCaller {
  readonly kind: 'user';
  readonly userId: string;
  readonly email: string;
  /** The refresh family (`sid`). */
  readonly sessionId: string;
  readonly scope: AccessScope;
  readonly roleId: string | null;
  readonly orgAccess: 'all' | 'selected' | 'none';
  /** The selected organizations; meaningful when `orgAccess` is `selected`. */
  readonly orgIds: readonly string[];
  /** Null means no restriction, an empty list means nothing. Ask the helpers of site-axis. */
  readonly siteIds: readonly string[] | null;
  readonly deviceGroupIds: readonly string[] | null;
  /** In force, inheritance included, wildcards as stored: ask `holds`. */
  readonly permissions: ReadonlySet<Permission>;
  /** The `mfa` claim: a factor was verified in this session. */
  readonly mfa: boolean;
  readonly hasFactor: boolean;
}

/** A machine with an API key: one organization, or those sites and groups of it that the key's creator reaches. */
export interface ApiKeyCaller extends KnownCaller {
  readonly kind: 'api_key';
  readonly keyId: string;
  readonly partnerId: string;
  readonly orgId: string;
  readonly scopes: readonly string[];
  /** As of a user. */
  readonly siteIds: readonly string[] | null;
  readonly deviceGroupIds: readonly string[] | null;
  readonly createdBy: string | null;
  /** The service principal that owns the key, if any. */
  readonly principalId: string | null;
}

/** A machine with a partner key: one partner and all its organizations. */
export interface PartnerKeyCaller extends KnownCaller {
  readonly kind: 'partner_key';
  readonly keyId: string;
  readonly principalId: string;
  readonly partnerId: string;
  readonly orgId: null;
  readonly scopes: readonly string[];
  readonly sourceCidrs: readonly string[];
  /** The earlier end of key and principal; ISO 8601 or null. */
  readonly expiresAt: string | null;
}

/** The program on a device. */
export interface AgentCaller extends KnownCaller {
  readonly kind: 'agent';
  readonly agentId: string;
  readonly deviceId: string;
  readonly partnerId: string;
  readonly orgId: string;
  readonly siteId: string | null;
}
