import { Injectable } from '@nestjs/common';
import {
  assertCanGrant,
  assertKnownScopes,
  isSiteRestricted,
  OrganizationDirectory,
  type UserCaller,
} from '@rmm/access';
import type { CredentialChanged } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { assertActive } from '../api-keys/api-key-lifecycle.service.js';
import type { ApiKey } from '../api-keys/api-key.entity.js';
import { KeyOwnedByServicePrincipal } from '../api-keys/api-key.errors.js';
import { apiKeyEvent, apiKeyUpdated } from '../api-keys/api-key.events.js';
import { apiKeysChanged, toApiKeyDto } from '../api-keys/api-key.mapper.js';
import { DEFAULT_RATE_LIMIT } from '../api-keys/api-keys.service.js';
import type { ApiKeyDto } from '../api-keys/dto/api-key.dto.js';
import { KeyLimitsRepository } from '../key-limits/key-limits.repository.js';
import type { CreateServicePrincipalDto } from './dto/create-service-principal.dto.js';
import type { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import type { RotateServicePrincipalDto } from './dto/rotate-service-principal.dto.js';
import type { CreatedServicePrincipalDto, PrincipalKeyDto, ServicePrincipalDto } from './dto/service-principal.dto.js';
import { PrincipalKeysRepository } from './principal-keys.repository.js';
import type { ServicePrincipal } from './service-principal.entity.js';
import {
  ExpiryRequired,
  KeyNotInOrganization,
  ServicePrincipalDisabled,
  SiteRestricted,
} from './service-principal.errors.js';
import { servicePrincipalResource, toPrincipalKeyDto, toServicePrincipalDto } from './service-principal.mapper.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';

/** Machine identities of an organization, each with at most one active API key. @see docs/reference/keys.md */
@Injectable()
export class ServicePrincipalsService {
  constructor(
    private readonly repository: ServicePrincipalsRepository,
    private readonly keys: PrincipalKeysRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListServicePrincipalsDto): Promise<Paged<ServicePrincipalDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, ...counted } = await this.repository.list(caller, query);
    return toPage(query, counted, rows.map(toServicePrincipalDto));
  }

  async get(caller: UserCaller, id: string): Promise<ServicePrincipalDto> {
    return toServicePrincipalDto(await this.repository.get(caller, id));
  }

  /** @throws SiteRestricted, PermissionNotDelegable 403; WildcardScopeUnsupported, UnsupportedScope 400 */
  async create(caller: UserCaller, dto: CreateServicePrincipalDto): Promise<CreatedServicePrincipalDto> {
    assertNotSiteRestricted(caller);
    const orgId = dto.orgId ?? caller.orgId;
    if (!orgId) throw ValidationError.forField('orgId', 'is required');
    const { name, scopes } = dto;
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertCanGrant(caller, scopes, API_KEY_SCOPES);
    const { partnerId } = await this.directory.assertOrganizationAccess(caller, orgId);
    return this.tenants.transaction(caller, async (tx) => {
      await this.limits.assertBelowLimit(tx, 'servicePrincipal', orgId);
      await this.limits.assertBelowLimit(tx, 'apiKey', orgId);
      const principal = await this.repository.create(tx, { partnerId, orgId, name, scopes, createdBy: caller.userId });
      const created = await this.createKey(tx, caller, principal, { expiresAt: null });
      const details = { scopes, keyPrefix: created.keyPrefix };
      await this.audit.record(tx, caller, 'service_principal.create', servicePrincipalResource(principal), details);
      return { ...toServicePrincipalDto(principal), ...created };
    });
  }

  /**
   * Revokes the key of the principal and creates a new one with the same limits and expiry.
   * @throws SiteRestricted, PermissionNotDelegable 403; ServicePrincipalDisabled 409; ExpiryRequired, ValidationError 400
   */
  async rotate(caller: UserCaller, id: string, { expiresAt }: RotateServicePrincipalDto): Promise<PrincipalKeyDto> {
    assertNotSiteRestricted(caller);
    if (expiresAt && expiresAt <= this.clock.now()) throw ValidationError.forField('expiresAt', 'lies in the past');
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.lockActive(tx, id);
      assertCanGrant(caller, principal.scopes, API_KEY_SCOPES);
      const predecessor = await this.keys.findNewest(tx, id);
      const limits = { ...predecessor, expiresAt: this.nextExpiry(predecessor, expiresAt) };
      const revoked = await this.revokeKeys(tx, caller, id, 'rotated');
      const created = await this.createKey(tx, caller, principal, limits);
      await this.repository.setStatus(tx, id, caller.userId, 'active');
      const details = { keyPrefix: created.keyPrefix, revoked: revoked.map(({ keyPrefix }) => keyPrefix) };
      await this.audit.record(tx, caller, 'service_principal.rotate_key', servicePrincipalResource(principal), details);
      return created;
    });
  }

  /** Disables the principal and revokes its keys; a second call changes nothing. @throws SiteRestricted 403 */
  disable(caller: UserCaller, id: string): Promise<ServicePrincipalDto> {
    assertNotSiteRestricted(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.lock(tx, id);
      const revoked = await this.revokeKeys(tx, caller, id, 'principal_disabled');
      if (principal.status === 'disabled' && revoked.length === 0) return toServicePrincipalDto(principal);
      const disabled = await this.repository.setStatus(tx, id, caller.userId, 'disabled');
      const details = { revoked: revoked.map(({ keyPrefix }) => keyPrefix) };
      await this.audit.record(tx, caller, 'service_principal.disable', servicePrincipalResource(disabled), details);
      return toServicePrincipalDto(disabled);
    });
  }

  /**
   * Makes the principal the owner of an API key that a user created; the key itself stays the same. Its scopes become
   * those that key and principal share; the other active key of the principal is revoked.
   * @throws SiteRestricted, PermissionNotDelegable 403; NotFoundError 404; ServicePrincipalDisabled,
   *   KeyOwnedByServicePrincipal 409; KeyNotInOrganization, ApiKeyNotActive 400
   */
  migrateKey(caller: UserCaller, id: string, keyId: string): Promise<ApiKeyDto> {
    assertNotSiteRestricted(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.lockActive(tx, id);
      const key = await this.keys.lock(tx, keyId);
      if (key.orgId !== principal.orgId) throw new KeyNotInOrganization();
      if (key.principalId !== null) throw new KeyOwnedByServicePrincipal();
      assertActive(key, this.clock.now());
      const scopes = key.scopes.filter((scope) => principal.scopes.includes(scope));
      assertCanGrant(caller, scopes, API_KEY_SCOPES);
      const revoked = await this.revokeKeys(tx, caller, id, 'revoked');
      const migrated = await this.keys.assign(tx, keyId, id, scopes);
      await this.repository.setStatus(tx, id, caller.userId, 'active');
      await this.outbox.publish(tx, [
        apiKeyUpdated(migrated, ['principalId', 'scopes'], caller.actor),
        ...apiKeysChanged([key], 'updated'),
      ]);
      const { keyPrefix } = key;
      const details = { keyId, keyPrefix, scopes, revoked: revoked.map((each) => each.keyPrefix) };
      await this.audit.record(
        tx,
        caller,
        'service_principal.migrate_key',
        servicePrincipalResource(principal),
        details,
      );
      return toApiKeyDto(migrated, this.clock.now());
    });
  }

  /** @throws ServicePrincipalNotFound, ServicePrincipalDisabled */
  private async lockActive(tx: TenantTransaction, id: string): Promise<ServicePrincipal> {
    const principal = await this.repository.lock(tx, id);
    if (principal.status === 'disabled') throw new ServicePrincipalDisabled();
    return principal;
  }

  /** @returns the keys that were active */
  private async revokeKeys(
    tx: TenantTransaction,
    { actor }: UserCaller,
    id: string,
    reason: CredentialChanged['reason'],
  ): Promise<ApiKey[]> {
    const active = await this.keys.lockActive(tx, id);
    if (active.length === 0) return [];
    const revoked = await this.keys.revoke(
      tx,
      active.map((key) => key.id),
    );
    const events = revoked.map((key) => apiKeyEvent('api_key.revoked', key, actor));
    await this.outbox.publish(tx, [...events, ...apiKeysChanged(active, reason)]);
    return active;
  }

  /** Returns the requested expiry, else that of the predecessor. @throws ExpiryRequired when that has passed */
  private nextExpiry(predecessor: ApiKey | null, requested: Date | null | undefined): Date | null {
    if (requested !== undefined) return requested;
    const inherited = predecessor?.expiresAt ?? null;
    if (inherited && inherited <= this.clock.now()) throw new ExpiryRequired();
    return inherited;
  }

  private async createKey(
    tx: TenantTransaction,
    caller: UserCaller,
    { id, orgId, partnerId, name, scopes }: ServicePrincipal,
    { rateLimit = DEFAULT_RATE_LIMIT, sourceCidrs, expiryReminders, expiresAt }: KeyLimits,
  ): Promise<PrincipalKeyDto> {
    const { key, keyPrefix, keyHash } = mintApiKey();
    const owner = { principalId: id, orgId, partnerId, createdBy: caller.userId };
    const limits = { scopes, rateLimit, expiresAt, sourceCidrs, expiryReminders };
    const row = await this.keys.create(tx, { ...owner, ...limits, name, keyPrefix, keyHash });
    await this.outbox.publish(tx, [
      apiKeyEvent('api_key.created', row, caller.actor),
      ...apiKeysChanged([row], 'created'),
    ]);
    return toPrincipalKeyDto(row, key);
  }
}

type KeyLimits = Partial<Pick<ApiKey, 'rateLimit' | 'sourceCidrs' | 'expiryReminders'>> & Pick<ApiKey, 'expiresAt'>;

/** @throws SiteRestricted */
function assertNotSiteRestricted(caller: UserCaller): void {
  if (isSiteRestricted(caller)) throw new SiteRestricted();
}
