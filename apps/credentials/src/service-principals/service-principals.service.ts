import { Injectable } from '@nestjs/common';
import { isSiteRestricted, OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock, toPage, ValidationError, type Paged } from '@rmm/service-kit';
import { ApiKeyChanges, type HashedApiKey } from '../api-keys/api-key-changes.js';
import type { ApiKey } from '../api-keys/api-key.entity.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { DEFAULT_RATE_LIMIT } from '../api-keys/api-keys.service.js';
import { assertKnownScopes, assertMayGrant, SiteRestricted } from '../scope-checks.js';
import type { CreateServicePrincipalDto } from './dto/create-service-principal.dto.js';
import type { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import {
  toPrincipalKeyDto,
  toServicePrincipalDto,
  type CreatedServicePrincipalDto,
  type PrincipalKeyDto,
  type ServicePrincipalDto,
} from './dto/service-principal.dto.js';
import type { ServicePrincipal } from './service-principal.entity.js';
import { ServicePrincipalDisabled } from './service-principal.errors.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';

/** Identities of an organization that are no people, each with at most one active API key. @see SPEC.md 3.2 */
@Injectable()
export class ServicePrincipalsService {
  constructor(
    private readonly repository: ServicePrincipalsRepository,
    private readonly keys: ApiKeysRepository,
    private readonly changes: ApiKeyChanges,
    private readonly tenants: TenantDatabase,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  async list(caller: UserCaller, query: ListServicePrincipalsDto): Promise<Paged<ServicePrincipalDto>> {
    if (query.orgId) await this.directory.assertOrganizationAccess(caller, query.orgId);
    const { rows, total } = await this.repository.list(caller, query);
    return toPage(query, total, rows.map(toServicePrincipalDto));
  }

  async get(caller: UserCaller, id: string): Promise<ServicePrincipalDto> {
    return toServicePrincipalDto(await this.repository.get(caller, id));
  }

  /** @throws SiteRestricted, PermissionNotDelegable 403; WildcardScopeUnsupported, UnsupportedScope 400 */
  async create(caller: UserCaller, dto: CreateServicePrincipalDto): Promise<CreatedServicePrincipalDto> {
    assertUnrestricted(caller);
    const orgId = dto.orgId ?? caller.orgId;
    if (!orgId) throw ValidationError.of('orgId', 'is required');
    const { name, scopes } = dto;
    assertKnownScopes(scopes, API_KEY_SCOPES);
    assertMayGrant(caller, scopes, API_KEY_SCOPES);
    const { partnerId } = await this.directory.assertOrganizationAccess(caller, orgId);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.insert(tx, { partnerId, orgId, name, scopes, createdBy: caller.userId });
      const minted = await this.mint(tx, caller, principal, null);
      const details = { scopes, keyPrefix: minted.keyPrefix };
      await this.audit.record(tx, caller, 'service_principal.create', resource(principal), details);
      return { ...toServicePrincipalDto(principal), ...minted };
    });
  }

  /** @throws SiteRestricted, PermissionNotDelegable 403; ServicePrincipalDisabled 409 */
  rotate(caller: UserCaller, id: string): Promise<PrincipalKeyDto> {
    assertUnrestricted(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.lockActive(tx, id);
      assertMayGrant(caller, principal.scopes, API_KEY_SCOPES);
      const predecessor = await this.keys.newestOf(tx, id);
      const old = await this.revokeKeys(tx, id, 'rotated');
      const minted = await this.mint(tx, caller, principal, predecessor);
      await this.repository.touch(tx, id, caller.userId, 'active');
      const details = { keyPrefix: minted.keyPrefix, revoked: old.map(({ keyPrefix }) => keyPrefix) };
      await this.audit.record(tx, caller, 'service_principal.rotate_key', resource(principal), details);
      return minted;
    });
  }

  /** Ends the principal and its keys; a second time changes nothing. @throws SiteRestricted 403 */
  disable(caller: UserCaller, id: string): Promise<ServicePrincipalDto> {
    assertUnrestricted(caller);
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.lock(tx, id);
      const ended = await this.revokeKeys(tx, id, 'principal_disabled');
      if (principal.status === 'disabled' && ended.length === 0) return toServicePrincipalDto(principal);
      const disabled = await this.repository.touch(tx, id, caller.userId, 'disabled');
      const details = { revoked: ended.map(({ keyPrefix }) => keyPrefix) };
      await this.audit.record(tx, caller, 'service_principal.disable', resource(disabled), details);
      return toServicePrincipalDto(disabled);
    });
  }

  /** @throws NotFoundError, ServicePrincipalDisabled */
  async lockActive(tx: TenantTransaction, id: string): Promise<ServicePrincipal> {
    const principal = await this.repository.lock(tx, id);
    if (principal.status === 'disabled') throw new ServicePrincipalDisabled();
    return principal;
  }

  /** @returns the keys that were active until now */
  async revokeKeys(
    tx: TenantTransaction,
    id: string,
    reason: 'rotated' | 'revoked' | 'principal_disabled',
  ): Promise<HashedApiKey[]> {
    const active = await this.keys.lockActiveOf(tx, id);
    const ids = active.map((key) => key.id);
    if (ids.length > 0) await this.keys.revoke(tx, ids);
    await this.changes.announce(tx, active, reason);
    return active;
  }

  /** @param predecessor  whose limits are carried over, and whose expiry unless it has passed */
  private async mint(
    tx: TenantTransaction,
    caller: UserCaller,
    { id, orgId, partnerId, name, scopes }: ServicePrincipal,
    predecessor: ApiKey | null,
  ): Promise<PrincipalKeyDto> {
    const { rateLimit = DEFAULT_RATE_LIMIT, sourceCidrs, expiryReminders } = predecessor ?? {};
    const end = predecessor?.expiresAt ?? null;
    const expiresAt = end && end > this.clock.now() ? end : null;
    const { key, keyPrefix, keyHash } = mintApiKey();
    const owned = { principalId: id, orgId, partnerId, name, scopes, createdBy: caller.userId };
    const carried = { rateLimit, expiresAt, sourceCidrs, expiryReminders };
    const row = await this.keys.insert(tx, { ...owned, ...carried, keyPrefix, keyHash });
    await this.changes.announce(tx, [row], 'created');
    return toPrincipalKeyDto(row, key);
  }
}

/** @throws SiteRestricted */
export function assertUnrestricted(caller: UserCaller): void {
  if (isSiteRestricted(caller)) throw new SiteRestricted();
}

export const resource = ({ id, name, orgId, partnerId }: ServicePrincipal) => ({
  type: 'service_principal',
  id,
  name,
  orgId,
  partnerId,
});
