import type { AccessScope, Actor } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import type { TenantContext } from '@rmm/persistence';

/** The authenticated caller of a request, with the actor for audit rows and the tenant context for queries. */
export type Caller = UserCaller | ApiKeyCaller | PartnerKeyCaller | AgentCaller | ScimCaller;

interface KnownCaller {
  readonly actor: Actor;
  /** Values that row-level security compares rows with. */
  readonly tenant: TenantContext;
  readonly partnerId: string | null;
  readonly orgId: string | null;
}

/** A user with an access token. */
export interface UserCaller extends KnownCaller {
  readonly kind: 'user';
  readonly userId: string;
  readonly email: string;
  /** The session (`sid`), which is the family of refresh tokens. */
  readonly sessionId: string;
  readonly scope: AccessScope;
  readonly roleId: string | null;
  readonly orgAccess: 'all' | 'selected' | 'none';
  /** The selected organizations; meaningful when `orgAccess` is `selected`. */
  readonly orgIds: readonly string[];
  /** Null means no restriction, an empty list means no site. Use the functions of site-restriction.policy. */
  readonly siteIds: readonly string[] | null;
  readonly deviceGroupIds: readonly string[] | null;
  /** Effective permissions, inherited ones included, wildcards as stored. Check them with `hasPermission`. */
  readonly permissions: ReadonlySet<Permission>;
  /** The `mfa` claim: a factor was verified in this session. */
  readonly mfa: boolean;
  readonly hasFactor: boolean;
}

/** A program with an API key: restricted to one organization, and to the sites and groups of the key's creator. */
export interface ApiKeyCaller extends KnownCaller {
  readonly kind: 'api_key';
  readonly keyId: string;
  readonly partnerId: string;
  readonly orgId: string;
  readonly scopes: readonly string[];
  /** See `UserCaller.siteIds`. */
  readonly siteIds: readonly string[] | null;
  readonly deviceGroupIds: readonly string[] | null;
  readonly createdBy: string | null;
  /** The service principal that owns the key, if any. */
  readonly principalId: string | null;
}

/** A program with a partner key: one partner and all its organizations. */
export interface PartnerKeyCaller extends KnownCaller {
  readonly kind: 'partner_key';
  readonly keyId: string;
  readonly keyName: string;
  readonly keyPrefix: string;
  readonly principalId: string;
  readonly principalName: string;
  readonly partnerId: string;
  readonly orgId: null;
  readonly scopes: readonly string[];
  /** Requests per hour. */
  readonly rateLimit: number;
  readonly sourceCidrs: readonly string[];
  /** The earlier expiry of the key and its principal, in ISO 8601; null when neither expires. */
  readonly expiresAt: string | null;
}

/** The agent program on a device. */
export interface AgentCaller extends KnownCaller {
  readonly kind: 'agent';
  readonly agentId: string;
  readonly deviceId: string;
  readonly partnerId: string;
  readonly orgId: string;
  readonly siteId: string | null;
  /** True while the token of the agent is being replaced. */
  readonly rotatesToken?: boolean;
}

/** The SCIM client of an organization's identity provider. */
export interface ScimCaller extends KnownCaller {
  readonly kind: 'scim';
  readonly tokenId: string;
  readonly providerId: string;
  readonly partnerId: string;
  readonly orgId: string;
}
