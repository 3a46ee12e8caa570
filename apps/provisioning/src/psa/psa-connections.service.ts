import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { FullPartnerAccessRequired, hasFullPartnerAccess, ScopeNotAllowed, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Outbound } from '@rmm/outbound';
import { hasPermission } from '@rmm/permissions';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { type DoneDto, ValidationError } from '@rmm/service-kit';
import { mergeSettings } from '@rmm/validation';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import type {
  CreatePsaConnectionDto,
  ListPsaConnectionsDto,
  PsaConnectionDto,
  PsaConnectionEnvelopeDto,
  UpdatePsaConnectionDto,
} from './dto/psa-connection.dto.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { psaResource, toPsaConnectionDetailsDto, toPsaConnectionDto } from './psa-connection.mapper.js';
import { PsaConnectionsRepository, type PsaConnectionChanges } from './psa-connections.repository.js';
import { assertPsaSettings, mergeCredentials } from './psa-credentials.policy.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaConnectionLimitExceeded } from './psa.errors.js';

/** Connections of one owner. */
export const MAX_CONNECTIONS = 50;

/** Manages connections to PSAs. @see docs/reference/provisioning.md#psa */
@Injectable()
export class PsaConnectionsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly connections: PsaConnectionsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly sealing: PsaSealingService,
    private readonly outbound: Outbound,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied, InvalidCursor; ValidationError  for an order that no index serves */
  async list(caller: UserCaller, query: ListPsaConnectionsDto): Promise<SortedPage<PsaConnectionDto>> {
    const { provider, status, orgId } = query;
    if (query.sort === 'name' && caller.tenant.scope === 'system' && orgId === undefined) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const { rows, pagination } = await this.connections.list(caller, { provider, status, orgId }, query);
    return { data: rows.map(toPsaConnectionDto), pagination };
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<PsaConnectionEnvelopeDto> {
    const row = await this.connections.get(caller, id);
    const mayChange =
      hasPermission(caller.permissions, 'organizations:write') && findRefusal(caller, row.orgId) === null;
    return { data: mayChange ? toPsaConnectionDetailsDto(row) : toPsaConnectionDto(row) };
  }

  /**
   * @throws OrganizationAccessDenied, ScopeNotAllowed, FullPartnerAccessRequired, PsaConnectionLimitExceeded;
   *   ValidationError  for credentials or settings that the provider does not have, and for a base URL that may not be called
   */
  async create(caller: UserCaller, dto: CreatePsaConnectionDto): Promise<PsaConnectionDto> {
    const { provider, name, settings: given = {} } = dto;
    const { partnerId, orgId } = await this.getOwner(caller, dto);
    const id = randomUUID();
    const settings = mergeSettings({}, given);
    assertPsaSettings(provider, settings);
    const credentials = mergeCredentials(provider, {}, dto.credentials, this.outbound.rules);
    const lock = `rmm.provisioning.psa-connections.${orgId ?? partnerId}`;
    return this.tenants.lockedTransaction(caller, lock, async (tx) => {
      if (orgId !== null) await this.organizations.getAccessible(tx, orgId);
      if ((await this.connections.countOf(tx, partnerId, orgId)) >= MAX_CONNECTIONS)
        throw new PsaConnectionLimitExceeded();
      const row = await this.connections.create(tx, {
        id,
        partnerId,
        orgId,
        provider,
        name,
        settings,
        createdBy: caller.userId,
        ...this.sealing.seal(id, provider, credentials),
      });
      await this.audit.record(tx, caller, 'psa.connection.create', psaResource(row), { provider });
      return toPsaConnectionDto(row);
    });
  }

  /**
   * Credentials merge by name, settings by key.
   * @throws NotFoundError, ScopeNotAllowed, FullPartnerAccessRequired, ValidationError  as `create`, and for a base URL of
   *   another origin without the secrets
   */
  update(caller: UserCaller, id: string, dto: UpdatePsaConnectionDto): Promise<PsaConnectionDto> {
    const fields = Object.entries(dto)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => field);
    if (fields.length === 0) throw ValidationError.nothingToChange();
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.lockOwned(tx, caller, id);
      const after = await this.connections.change(tx, id, this.toChanges(before, dto));
      const changed = fields.filter((field) => field !== 'status');
      if (changed.length > 0) {
        const credentials = Object.keys(dto.credentials ?? {}).sort();
        await this.audit.record(tx, caller, 'psa.connection.update', psaResource(after), {
          fields: changed,
          credentials,
        });
      }
      if (after.status !== before.status) {
        const details = { from: before.status, to: after.status };
        await this.audit.record(tx, caller, 'psa.connection.status.update', psaResource(after), details);
      }
      return toPsaConnectionDto(after);
    });
  }

  /** Deletes a connection with the links to its companies. @throws NotFoundError, ScopeNotAllowed, FullPartnerAccessRequired */
  delete(caller: UserCaller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.lockOwned(tx, caller, id);
      const links = await this.connections.remove(tx, row);
      await this.audit.record(tx, caller, 'psa.connection.delete', psaResource(row), { provider: row.provider, links });
      return { success: true };
    });
  }

  private async getOwner(
    caller: UserCaller,
    { ownerScope, orgId: requested, partnerId }: CreatePsaConnectionDto,
  ): Promise<{ partnerId: string; orgId: string | null }> {
    if (ownerScope === 'partner') {
      if (requested !== undefined) throw ValidationError.forField('orgId', 'belongs to connections of an organization');
      assertMayChange(caller, null);
      return { partnerId: resolvePartnerId(caller, partnerId), orgId: null };
    }
    if (partnerId !== undefined) throw ValidationError.forField('partnerId', 'belongs to connections of a partner');
    const orgId = requested ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    const organization = await this.organizations.getAccessible(caller, orgId);
    return { partnerId: organization.partnerId, orgId };
  }

  private async lockOwned(tx: TenantTransaction, caller: UserCaller, id: string): Promise<PsaConnection> {
    const row = await this.connections.get(tx, id);
    assertMayChange(caller, row.orgId);
    return this.connections.lock(tx, id);
  }

  private toChanges(stored: PsaConnection, dto: UpdatePsaConnectionDto): PsaConnectionChanges {
    const { id, provider } = stored;
    const settings = dto.settings && mergeSettings(stored.settings, dto.settings);
    if (settings) assertPsaSettings(provider, settings);
    if (!dto.credentials) return { name: dto.name, status: dto.status, settings };
    const merged = mergeCredentials(provider, this.sealing.openUsable(stored), dto.credentials, this.outbound.rules);
    // New credentials may work: the next test or preview says so.
    const status = dto.status ?? (stored.status === 'error' ? 'active' : undefined);
    return { name: dto.name, status, settings, ...this.sealing.seal(id, provider, merged) };
  }
}

/** @throws ScopeNotAllowed  for an organization caller; FullPartnerAccessRequired  for one with selected organizations */
export function assertMayChange(caller: UserCaller, orgId: string | null): void {
  const refusal = findRefusal(caller, orgId);
  if (refusal) throw refusal;
}

/** A connection of the partner is changed by those with access to all of it alone. */
function findRefusal(caller: UserCaller, orgId: string | null): Error | null {
  if (orgId !== null) return null;
  if (caller.tenant.scope === 'organization') return new ScopeNotAllowed();
  return hasFullPartnerAccess(caller) ? null : new FullPartnerAccessRequired();
}
