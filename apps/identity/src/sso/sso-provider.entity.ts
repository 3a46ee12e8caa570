import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { MemberScope } from '../members/member-scope.service.js';

export const SSO_TYPES = ['oidc', 'saml'] as const;
export type SsoType = (typeof SSO_TYPES)[number];

export const SSO_STATUSES = ['active', 'inactive', 'testing'] as const;
export type SsoStatus = (typeof SSO_STATUSES)[number];

/** Names of the claims that attributes of a user are read from. */
export interface AttributeMapping {
  email: string;
  name: string;
  firstName?: string;
  lastName?: string;
  groups?: string;
}

/** The result of discovery: the endpoints, and what decides how requests are sent and responses are checked. */
export interface ProviderMetadata {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  jwksUri: string;
  userInfoEndpoint: string | null;
  endSessionEndpoint: string | null;
  /** Signature algorithms of ID tokens that are accepted here as well. */
  signingAlgorithms: string[];
  tokenAuthMethods: string[] | null;
  /** The authorization response names its issuer (RFC 9207). */
  namesIssuer: boolean;
}

/** Gives the members of a group a role. */
export interface ScimRoleMapping {
  group: string;
  roleId: string;
}

/** The identity provider of an organization, or with `orgId` null of a partner for its own staff. @see docs/reference/sso.md */
@Entity('sso_provider')
export class SsoProvider {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('text')
  name: string;

  @Column('text')
  type: SsoType;

  @Column('text', { nullable: true })
  preset: string | null;

  @Column('text')
  status: SsoStatus;

  @Column('text', { nullable: true })
  issuer: string | null;

  @Column('text', { name: 'client_id', nullable: true })
  clientId: string | null;

  @Column('text', { name: 'client_secret_sealed', nullable: true })
  clientSecretSealed: string | null;

  @Column('text')
  scopes: string;

  @Column('jsonb', { name: 'attribute_mapping' })
  attributeMapping: AttributeMapping;

  /** Null until discovery succeeded. */
  @Column('jsonb', { nullable: true })
  metadata: ProviderMetadata | null;

  @Column('boolean', { name: 'auto_provision' })
  autoProvision: boolean;

  @Column('uuid', { name: 'default_role_id', nullable: true })
  defaultRoleId: string | null;

  /** The user who chose the default role: users are created only while this user may grant it. */
  @Column('uuid', { name: 'default_role_configured_by', nullable: true })
  defaultRoleConfiguredBy: string | null;

  @Column('text', { name: 'allowed_domains', array: true })
  allowedDomains: string[];

  @Column('boolean', { name: 'enforce_sso' })
  enforceSso: boolean;

  @Column('boolean', { name: 'trusts_idp_mfa' })
  trustsIdpMfa: boolean;

  /** The groups of SCIM that give roles, the first match counting. */
  @Column('jsonb', { name: 'scim_role_mappings' })
  scimRoleMappings: ScimRoleMapping[];

  /** A group of SCIM gives the role with its name. */
  @Column('boolean', { name: 'scim_groups_by_name' })
  scimGroupsByName: boolean;

  /** The user who configured both: they give roles only while this user may grant them. */
  @Column('uuid', { name: 'scim_configured_by', nullable: true })
  scimConfiguredBy: string | null;

  /** Rises with each change; logins that began before it end. */
  @Column('integer', { name: 'config_version' })
  configVersion: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}

/** The context that the client secret of a provider is sealed for. */
export const clientSecretSealContext = (providerId: string): string => `sso_provider.client_secret:${providerId}`;

/** Returns the tenant whose members a provider signs in. */
export const memberScopeOf = ({ partnerId, orgId }: Pick<SsoProvider, 'partnerId' | 'orgId'>): MemberScope =>
  orgId === null ? { kind: 'partner', partnerId } : { kind: 'organization', partnerId, orgId };
