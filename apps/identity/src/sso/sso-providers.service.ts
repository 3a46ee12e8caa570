import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { FullPartnerAccessRequired, isSiteRestricted, SiteAccessDenied, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ConflictError, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { MemberScopeService, tenantOf, type MemberScope } from '../members/member-scope.service.js';
import { RoleGrantPolicy } from '../roles/role-grant.policy.js';
import { InvalidRoleScope } from '../roles/role.errors.js';
import type {
  CreateSsoProviderDto,
  ListSsoProvidersDto,
  SsoProviderDto,
  SsoProviderListItemDto,
  SsoProviderSettingsDto,
  UpdateSsoProviderDto,
} from './dto/sso-provider.dto.js';
import { readDomains } from './email-domain.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { DEFAULT_MAPPING, DEFAULT_SCOPES, SSO_PRESETS } from './sso-presets.constants.js';
import { SsoProviderChangesService } from './sso-provider-changes.service.js';
import {
  clientSecretSealContext,
  memberScopeOf,
  type ProviderMetadata,
  type SsoProvider,
  type SsoStatus,
} from './sso-provider.entity.js';
import { toSsoProviderDto, toSsoProviderListItem } from './sso-provider.mapper.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import {
  DefaultRoleRequired,
  InvalidDefaultRole,
  OidcIssuerRequired,
  OrganizationContextRequired,
  ProviderIncomplete,
  SamlNotSupported,
  TooManySsoProviders,
} from './sso.errors.js';

const MAX_PROVIDERS = 20;
const UPDATED = 'sso.provider.update';

/** Settings whose values the audit trail shows; of the others it names the field. */
type Settings = Pick<
  SsoProvider,
  | 'name'
  | 'preset'
  | 'issuer'
  | 'clientId'
  | 'clientSecretSealed'
  | 'scopes'
  | 'attributeMapping'
  | 'autoProvision'
  | 'defaultRoleId'
  | 'allowedDomains'
  | 'enforceSso'
  | 'trustsIdpMfa'
>;

/** Identity providers of organizations and of partners. @see docs/reference/sso.md */
@Injectable()
export class SsoProvidersService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly scopes: MemberScopeService,
    private readonly grants: RoleGrantPolicy,
    private readonly oidc: OidcClient,
    private readonly keyRing: KeyRing,
    private readonly effects: SsoProviderChangesService,
    private readonly audit: AuditTrail,
  ) {}

  async list(caller: UserCaller, query: ListSsoProvidersDto): Promise<Paged<SsoProviderListItemDto>> {
    const scope = await this.resolveOwner(caller, { ...query, ownerScope: query.scope });
    const { rows, ...counted } = await this.providers.list(caller, scope, query);
    return toPage(query, counted, rows.map(toSsoProviderListItem));
  }

  /** @throws NotFoundError also for a provider of another tenant */
  async get(caller: UserCaller, id: string): Promise<SsoProviderDto> {
    return toSsoProviderDto(await this.providers.get(caller, id));
  }

  /**
   * Creates an inactive provider after a successful discovery.
   * @throws OidcIssuerRequired, OidcDiscoveryFailed, DefaultRoleRequired, InvalidDefaultRole, PermissionNotDelegable,
   *   TooManySsoProviders, ValidationError
   */
  async create(caller: UserCaller, dto: CreateSsoProviderDto): Promise<SsoProviderDto> {
    const scope = await this.resolveOwner(caller, dto);
    assertMayManage(caller, tenantOf(scope).orgId);
    const id = randomUUID();
    const preset = SSO_PRESETS.find((candidate) => candidate.id === dto.preset);
    const type = dto.type ?? 'oidc';
    const settings = this.merge(
      id,
      {
        ...{ name: dto.name, preset: dto.preset ?? null, issuer: null, clientId: null, clientSecretSealed: null },
        scopes: preset?.scopes ?? DEFAULT_SCOPES,
        attributeMapping: preset?.attributeMapping ?? DEFAULT_MAPPING,
        autoProvision: Boolean(dto.defaultRoleId) && tenantOf(scope).orgId !== null,
        ...{ defaultRoleId: null, allowedDomains: [], enforceSso: false, trustsIdpMfa: false },
      },
      dto,
    );
    assertConsistent(settings, { type, orgId: tenantOf(scope).orgId });
    const metadata = type === 'oidc' ? await this.discover(settings.issuer) : null;
    return this.tenants.transaction(caller, async (tx) => {
      await this.providers.lockOwner(tx, tenantOf(scope));
      if ((await this.providers.countOf(tx, scope)) >= MAX_PROVIDERS) throw new TooManySsoProviders(MAX_PROVIDERS);
      await this.assertDefaultRole(tx, caller, scope, settings.defaultRoleId);
      const defaultRoleConfiguredBy = settings.defaultRoleId === null ? null : caller.userId;
      const row = await this.providers.create(tx, {
        ...{ id, ...tenantOf(scope), type, ...settings, metadata, defaultRoleConfiguredBy },
      });
      await this.audit.record(tx, caller, 'sso.provider.create', auditedProvider(row), describe(row));
      return toSsoProviderDto(row);
    });
  }

  /**
   * Changes settings. Logins in progress end. A changed issuer is discovered first; the identities of the former one are
   * removed and the sessions that it opened end, the caller's too.
   * @throws NotFoundError; what `create` throws; ConflictError when the provider was changed meanwhile
   */
  async update(caller: UserCaller, id: string, dto: UpdateSsoProviderDto): Promise<SsoProviderDto> {
    const before = await this.providers.get(caller, id);
    try {
      return await this.changeSettings(caller, before, dto);
    } catch (error) {
      const details = { reason: (error as { code?: string }).code ?? 'failed', fields: fieldsOf(dto) };
      await this.audit.recordDirect(
        caller,
        'sso.provider.update.rejected',
        auditedProvider(before),
        details,
        'failure',
      );
      throw error;
    }
  }

  /** Deletes a provider with its identities and pending logins; the sessions it opened end. @throws NotFoundError */
  async remove(caller: UserCaller, id: string): Promise<void> {
    await this.tenants.transaction(caller, async (tx) => {
      const row = await this.providers.lock(tx, id);
      assertMayManage(caller, row.orgId);
      await this.grants.refreshCaller(tx, caller, 'sso:admin');
      const endedUsers = await this.effects.endSessions(tx, id);
      await this.providers.remove(tx, id);
      await this.audit.record(tx, caller, 'sso.provider.delete', auditedProvider(row), { endedUsers });
    });
  }

  /**
   * Changes the status. The sessions of a provider end, the caller's too, when it is no longer active.
   * @throws NotFoundError, ProviderIncomplete, SamlNotSupported
   */
  async setStatus(caller: UserCaller, id: string, status: SsoStatus): Promise<SsoProviderDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.providers.lock(tx, id);
      assertMayManage(caller, before.orgId);
      await this.grants.refreshCaller(tx, caller, 'sso:admin');
      if (status === 'active') assertComplete(before);
      const row = await this.providers.change(tx, id, { status });
      await this.effects.enforce(tx, caller, before, row);
      const hasEnded = before.status === 'active' && status !== 'active';
      const endedUsers = hasEnded ? await this.effects.endSessions(tx, id) : 0;
      const details = { from: before.status, to: status, endedUsers };
      await this.audit.record(tx, caller, 'sso.provider.status.update', auditedProvider(row), details);
      return toSsoProviderDto(row);
    });
  }

  private async changeSettings(caller: UserCaller, before: SsoProvider, dto: UpdateSsoProviderDto) {
    assertMayManage(caller, before.orgId);
    const fields = fieldsOf(dto);
    if (fields.length === 0) throw ValidationError.forField('body', 'names no field to change');
    const named = {
      ...before,
      name: dto.name ?? before.name,
      preset: dto.preset === undefined ? before.preset : dto.preset,
    };
    const settings = this.merge(before.id, named, dto);
    assertConsistent(settings, before);
    const isNewIssuer = settings.issuer !== before.issuer && before.type === 'oidc';
    const metadata = isNewIssuer ? await this.discover(settings.issuer) : before.metadata;
    return this.tenants.transaction(caller, async (tx) => {
      const current = await this.providers.lock(tx, before.id);
      if (current.configVersion !== before.configVersion) throw new ConflictError('The provider was changed meanwhile');
      if (current.status === 'active') assertComplete({ ...current, ...settings, metadata });
      const choosesRole = dto.defaultRoleId !== undefined || (dto.autoProvision === true && !before.autoProvision);
      if (choosesRole) await this.assertDefaultRole(tx, caller, memberScopeOf(before), settings.defaultRoleId);
      else await this.grants.refreshCaller(tx, caller, 'sso:admin');
      const configuredBy = settings.defaultRoleId === null ? null : caller.userId;
      const row = await this.providers.change(tx, before.id, {
        ...{ ...settings, metadata },
        defaultRoleConfiguredBy: choosesRole ? configuredBy : before.defaultRoleConfiguredBy,
      });
      await this.effects.enforce(tx, caller, before, row);
      const removed = isNewIssuer ? await this.effects.replaceIssuer(tx, before) : {};
      await this.audit.record(tx, caller, UPDATED, auditedProvider(row), { fields, ...describe(row), ...removed });
      return toSsoProviderDto(row);
    });
  }

  /** @throws InvalidDefaultRole, PermissionNotDelegable, PermissionDenied */
  private async assertDefaultRole(
    tx: TenantTransaction,
    caller: UserCaller,
    scope: MemberScope,
    roleId: string | null,
  ) {
    const current = await this.grants.refreshCaller(tx, caller, 'sso:admin');
    if (roleId === null) return;
    try {
      const role = await this.grants.getGrantableRole(tx, current, scope, roleId);
      if (role.systemKey !== null) throw new InvalidDefaultRole();
    } catch (error) {
      throw error instanceof InvalidRoleScope ? new InvalidDefaultRole(undefined, { cause: error }) : error;
    }
  }

  private discover(issuer: string | null): Promise<ProviderMetadata> {
    if (issuer === null) throw new OidcIssuerRequired();
    return this.oidc.discover(issuer);
  }

  private merge(id: string, before: Settings, dto: SsoProviderSettingsDto & { name?: string }): Settings {
    const { clientSecret } = dto;
    const secret = clientSecret && this.keyRing.seal(clientSecret, clientSecretSealContext(id));
    const mapping = dto.attributeMapping;
    return {
      name: before.name,
      preset: before.preset,
      issuer: cleared(dto.issuer, before.issuer),
      clientId: cleared(dto.clientId, before.clientId),
      clientSecretSealed: secret ?? before.clientSecretSealed,
      scopes: dto.scopes?.trim() ?? before.scopes,
      attributeMapping: mapping ? { ...mapping } : before.attributeMapping,
      autoProvision: dto.autoProvision ?? before.autoProvision,
      defaultRoleId: cleared(dto.defaultRoleId?.toLowerCase() ?? dto.defaultRoleId, before.defaultRoleId),
      allowedDomains: dto.allowedDomains === undefined ? before.allowedDomains : readDomains(dto.allowedDomains ?? ''),
      enforceSso: dto.enforceSSO ?? before.enforceSso,
      trustsIdpMfa: dto.trustsIdpMfa ?? before.trustsIdpMfa,
    };
  }

  /** @throws OrganizationContextRequired when a partner or system caller names no owner */
  private resolveOwner(
    caller: UserCaller,
    named: { ownerScope?: 'organization' | 'partner'; orgId?: string; partnerId?: string },
  ): Promise<MemberScope> {
    if (named.ownerScope === 'partner') {
      if (named.orgId !== undefined) throw ValidationError.forField('orgId', 'is not for providers of the partner');
      // A member of an organization has no access to the partner's providers.
      if (caller.scope === 'organization') throw new FullPartnerAccessRequired();
      return this.scopes.resolve(caller, { partnerId: named.partnerId });
    }
    if (caller.scope !== 'organization' && named.orgId === undefined) throw new OrganizationContextRequired();
    return this.scopes.resolve(caller, { orgId: named.orgId });
  }
}

/** An empty text clears; an absent one keeps. */
const cleared = (given: string | null | undefined, before: string | null): string | null =>
  given === undefined ? before : given === null || given.trim() === '' ? null : given.trim();

const fieldsOf = (dto: object): string[] =>
  Object.entries(dto).flatMap(([field, value]) => (value === undefined ? [] : [field]));

export const auditedProvider = ({ id, name, partnerId, orgId }: SsoProvider) => ({
  ...{ type: 'sso_provider', id, name, partnerId, orgId },
});

const describe = (row: SsoProvider) => ({
  type: row.type,
  issuer: row.issuer,
  autoProvision: row.autoProvision,
  defaultRoleId: row.defaultRoleId,
  allowedDomains: row.allowedDomains,
  enforceSSO: row.enforceSso,
  trustsIdpMfa: row.trustsIdpMfa,
  configVersion: row.configVersion,
});

/**
 * Providers concern all sites of an organization, and all organizations of a partner.
 * @throws SiteAccessDenied, FullPartnerAccessRequired
 */
export function assertMayManage(caller: UserCaller, orgId: string | null): void {
  if (isSiteRestricted(caller)) throw new SiteAccessDenied();
  const isPartial = caller.scope === 'partner' && caller.orgAccess !== 'all';
  if (orgId === null && isPartial) throw new FullPartnerAccessRequired();
}

function assertConsistent(settings: Settings, { type, orgId }: Pick<SsoProvider, 'type' | 'orgId'>): void {
  const { issuer, autoProvision, defaultRoleId, enforceSso, scopes } = settings;
  if (type === 'oidc' && issuer === null) throw new OidcIssuerRequired();
  if (issuer !== null && !isIssuer(issuer)) {
    throw ValidationError.forField('issuer', 'must be an http or https URL without query and fragment');
  }
  if (!scopes.split(' ').includes('openid')) throw ValidationError.forField('scopes', 'must contain openid');
  if (autoProvision && orgId === null) throw ValidationError.forField('autoProvision', 'is for organizations only');
  if (enforceSso && orgId === null) throw ValidationError.forField('enforceSSO', 'is for organizations only');
  if (autoProvision && defaultRoleId === null) throw new DefaultRoleRequired();
}

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && search === '' && hash === '' && username === '' && password === '';
}

function assertComplete({ type, issuer, clientId, clientSecretSealed, metadata }: SsoProvider): void {
  if (type === 'saml') throw new SamlNotSupported();
  if (issuer === null || clientId === null || clientSecretSealed === null || metadata === null) {
    throw new ProviderIncomplete();
  }
}
