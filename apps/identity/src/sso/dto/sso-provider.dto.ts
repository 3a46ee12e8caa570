import { ApiProperty } from '@nestjs/swagger';
import { IsFlag, IsName, IsNested, IsOneOf, IsText, IsUuid, PageQueryDto } from '@rmm/validation';
import { PRESET_IDS } from '../sso-presets.constants.js';
import { SSO_STATUSES, SSO_TYPES, type SsoStatus, type SsoType } from '../sso-provider.entity.js';

const OWNER_SCOPES = ['organization', 'partner'] as const;
type OwnerScope = (typeof OWNER_SCOPES)[number];
const CLAIM = { min: 1, max: 100, pattern: /^[\x21-\x7e]+$/ };
const nullableText = { type: String, nullable: true } as const;
const nullableId = { type: String, format: 'uuid', nullable: true } as const;

/** Claims that the attributes of a user are read from. */
export class AttributeMappingDto {
  @IsText({ ...CLAIM, example: 'email', description: 'Claim with the e-mail address' })
  email!: string;
  @IsText({ ...CLAIM, example: 'name', description: 'Claim with the full name' })
  name!: string;
  @IsText({ ...CLAIM, optional: true, description: 'Claim with the first name' })
  firstName?: string;
  @IsText({ ...CLAIM, optional: true, description: 'Claim with the last name' })
  lastName?: string;
  @IsText({ ...CLAIM, optional: true, description: 'Claim with the groups' })
  groups?: string;
}

/** The settings of a provider that create and update share. */
export class SsoProviderSettingsDto {
  @IsText({
    max: 2_048,
    optional: true,
    nullable: true,
    description: 'Exactly as the provider names itself; `""` or null clears it',
  })
  issuer?: string | null;

  @IsText({ max: 512, optional: true, nullable: true, description: 'Client id at the identity provider' })
  clientId?: string | null;

  @IsText({ min: 1, max: 2_048, optional: true, description: 'Stored encrypted, never returned; an absent one stays' })
  clientSecret?: string;

  @IsText({
    min: 6,
    max: 512,
    optional: true,
    pattern: /^[\x21\x23-\x5b\x5d-\x7e ]+$/,
    description: 'Separated by spaces; `openid` is among them',
  })
  scopes?: string;

  @IsNested(() => AttributeMappingDto, {
    optional: true,
    description: 'Claims that the attributes of a user are read from',
  })
  attributeMapping?: AttributeMappingDto;

  @IsFlag({ optional: true, description: 'Create unknown users; true by default when a default role is given' })
  autoProvision?: boolean;

  @IsText({
    max: 36,
    optional: true,
    nullable: true,
    pattern: /^$|^[0-9a-fA-F-]{36}$/,
    description: 'Custom role of new users; `""` or null clears it',
  })
  defaultRoleId?: string | null;

  @IsText({
    max: 5_000,
    optional: true,
    nullable: true,
    description: 'E-mail domains that may sign in, separated by commas; none: every domain',
    example: 'example.com,example.org',
  })
  allowedDomains?: string | null;

  @IsFlag({
    optional: true,
    description: 'While the provider is active, the members of the organization sign in by single sign-on only',
  })
  enforceSSO?: boolean;

  @IsFlag({ optional: true, description: 'Accept a second factor that the provider verified (`amr` contains `mfa`)' })
  trustsIdpMfa?: boolean;
}

export class CreateSsoProviderDto extends SsoProviderSettingsDto {
  @IsOneOf(OWNER_SCOPES, {
    optional: true,
    description: 'Whom it signs in: the members of an organization (default) or the staff of the partner',
  })
  ownerScope?: OwnerScope;

  @IsUuid({ optional: true, description: 'Required for partner and system callers, unless `ownerScope` is `partner`' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Read for system callers only; others use their own partner' })
  partnerId?: string;

  @IsName({ description: 'Name of the provider' })
  name!: string;

  @IsOneOf(SSO_TYPES, { optional: true, description: '`oidc` by default; `saml` is stored and never active' })
  type?: SsoType;

  @IsOneOf(PRESET_IDS, { optional: true, description: 'Known identity provider that the settings began with' })
  preset?: string;
}

export class UpdateSsoProviderDto extends SsoProviderSettingsDto {
  @IsName({ optional: true, description: 'Name of the provider' })
  name?: string;

  @IsOneOf(PRESET_IDS, {
    optional: true,
    nullable: true,
    description: 'Known identity provider that the settings began with',
  })
  preset?: string | null;
}

export class SetSsoStatusDto {
  @IsOneOf(SSO_STATUSES, { description: 'The new state of the provider' })
  status!: SsoStatus;
}

export class ListSsoProvidersDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Required for partner and system callers, unless `scope` is given' })
  orgId?: string;

  @IsOneOf(['partner'], { optional: true, description: "The partner's own providers" })
  scope?: 'partner';

  @IsUuid({ optional: true, description: 'With `scope`, for system callers' })
  partnerId?: string;
}

export class SsoProviderListItemDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the provider' })
  id: string;
  @ApiProperty({ description: 'Name of the provider' })
  name: string;
  @ApiProperty({ enum: SSO_TYPES, description: 'Kind of the provider' })
  type: SsoType;
  @ApiProperty({ enum: OWNER_SCOPES, description: 'Whether it belongs to an organization or to the partner' })
  ownerScope: OwnerScope;
  @ApiProperty({ ...nullableId, description: 'Organization of the provider' })
  orgId: string | null;
  @ApiProperty({ enum: SSO_STATUSES, description: 'State of the provider' })
  status: SsoStatus;
  @ApiProperty({ ...nullableText, description: 'Issuer as the provider names itself' })
  issuer: string | null;
  @ApiProperty({ description: 'Whether unknown users are created' })
  autoProvision: boolean;
  @ApiProperty({ description: 'Whether members sign in by single sign-on only' })
  enforceSSO: boolean;
  @ApiProperty({ description: 'Whether a second factor that the provider verified is accepted' })
  trustsIdpMfa: boolean;
  @ApiProperty({ format: 'date-time', description: 'When the provider was created' })
  createdAt: string;
}

export class SsoProviderDto extends SsoProviderListItemDto {
  @ApiProperty({ ...nullableText, description: 'Known identity provider that the settings began with' })
  preset: string | null;
  @ApiProperty({ ...nullableText, description: 'Client id at the identity provider' })
  clientId: string | null;
  @ApiProperty({ description: 'Whether a client secret is stored' })
  hasClientSecret: boolean;
  @ApiProperty({ description: 'Scopes that are requested, separated by spaces' })
  scopes: string;
  @ApiProperty({ type: AttributeMappingDto, description: 'Claims that the attributes of a user are read from' })
  attributeMapping: AttributeMappingDto;
  @ApiProperty({ ...nullableId, description: 'Role of new users; null without one' })
  defaultRoleId: string | null;
  @ApiProperty({ ...nullableId, description: 'The user whose permissions limit the default role' })
  defaultRoleConfiguredBy: string | null;
  @ApiProperty({ description: 'Separated by commas' })
  allowedDomains: string;
  @ApiProperty({ ...nullableText, description: 'Authorization endpoint; null before its discovery' })
  authorizationUrl: string | null;
  @ApiProperty({ ...nullableText, description: 'Token endpoint; null before its discovery' })
  tokenUrl: string | null;
  @ApiProperty({ ...nullableText, description: 'User info endpoint; null without one' })
  userInfoUrl: string | null;
  @ApiProperty({ ...nullableText, description: 'Address of the keys; null before its discovery' })
  jwksUrl: string | null;
  @ApiProperty({ type: 'integer', description: 'Rises with each change; logins that began before it end' })
  configVersion: number;
  @ApiProperty({ ...nullableText, description: 'Of SAML, which is not supported' })
  entityId: string | null;
  @ApiProperty({ ...nullableText, description: 'Of SAML, which is not supported' })
  ssoUrl: string | null;
  @ApiProperty({ ...nullableText, description: 'Of SAML, which is not supported' })
  certificate: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the provider was last changed' })
  updatedAt: string;
}

export class SsoProviderResponseDto {
  @ApiProperty({ type: SsoProviderDto, description: 'The provider' })
  data: SsoProviderDto;
}

class SsoPresetDto {
  @ApiProperty({ enum: PRESET_IDS, description: 'Id of the preset' })
  id: string;
  @ApiProperty({ description: 'Name of the preset' })
  name: string;
  @ApiProperty({ enum: SSO_TYPES, description: 'Kind of the preset' })
  type: SsoType;
  @ApiProperty({
    example: 'https://login.microsoftonline.com/{tenantId}/v2.0',
    description: 'Issuer with a placeholder for the tenant',
  })
  issuerTemplate: string;
  @ApiProperty({ description: 'Scopes that are requested, separated by spaces' })
  scopes: string;
  @ApiProperty({ type: AttributeMappingDto, description: 'Claims that the attributes of a user are read from' })
  attributeMapping: AttributeMappingDto;
}

export class SsoPresetsDto {
  @ApiProperty({ type: [SsoPresetDto], description: 'The presets' })
  data: readonly SsoPresetDto[];
}

class SsoDiscoveredDto {
  @ApiProperty({ description: 'Issuer as the provider names itself' })
  issuer: string;
  @ApiProperty({ description: 'Authorization endpoint' })
  authorizationEndpoint: string;
  @ApiProperty({ description: 'Token endpoint' })
  tokenEndpoint: string;
  @ApiProperty({ ...nullableText, description: 'User info endpoint; null without one' })
  userInfoEndpoint: string | null;
}

export class SsoTestDto {
  @ApiProperty({ enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({ description: 'Result in a sentence' })
  message: string;
  @ApiProperty({ type: SsoDiscoveredDto, description: 'What the provider publishes about itself' })
  discovery: SsoDiscoveredDto;
}
