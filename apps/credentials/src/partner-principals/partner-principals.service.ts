import { Injectable } from '@nestjs/common';
import { assertCanGrant, PartnerAccessDenied, PartnerDirectory, type UserCaller } from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { DEFAULT_PARTNER_SCOPES, PARTNER_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { Clock, ValidationError } from '@rmm/service-kit';
import { toPage, type PageQueryDto } from '@rmm/validation';
import { KeyLimitsRepository } from '../key-limits/key-limits.repository.js';
import type { CreatePartnerPrincipalDto } from './dto/create-partner-principal.dto.js';
import type { PartnerPrincipalDto } from './dto/partner-principal.dto.js';
import type { UpdatePartnerPrincipalDto } from './dto/update-partner-principal.dto.js';
import { PartnerKeysRepository } from './partner-keys.repository.js';
import { applyUpdate, describeChanges, grantedScopes, isEmptyUpdate } from './partner-principal-changes.policy.js';
import { InvalidExpiry } from './partner-principal.errors.js';
import { partnerKeysChanged, partnerPrincipalResource, toPartnerPrincipalDto } from './partner-principal.mapper.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';

/** Manages partner principals, the machine identities of a partner. @see docs/reference/partner-interface.md */
@Injectable()
export class PartnerPrincipalsService {
  constructor(
    private readonly repository: PartnerPrincipalsRepository,
    private readonly keys: PartnerKeysRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly partners: PartnerDirectory,
    private readonly tenants: TenantDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /** @throws PartnerAccessDenied */
  async list(
    caller: UserCaller,
    partnerId: string | undefined,
    page: PageQueryDto,
  ): Promise<Page<PartnerPrincipalDto>> {
    if (partnerId) await this.assertPartner(caller, partnerId);
    const { rows, ...counted } = await this.repository.list(caller, partnerId, page);
    const ids = rows.map((row) => row.id);
    const keys = ids.length > 0 ? await this.keys.listOfPrincipals(caller, ids) : [];
    return toPage(
      page,
      counted,
      rows.map((row) => toPartnerPrincipalDto(row, keys)),
    );
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<PartnerPrincipalDto> {
    const row = await this.repository.get(caller, id);
    return toPartnerPrincipalDto(row, await this.keys.listOfPrincipals(caller, [id]));
  }

  /** @throws PartnerAccessDenied, ValidationError, PermissionNotDelegable, InvalidExpiry, PrincipalNameTaken, KeyLimitExceeded */
  async create(
    caller: UserCaller,
    partnerId: string | undefined,
    dto: CreatePartnerPrincipalDto,
  ): Promise<PartnerPrincipalDto> {
    const owner = caller.partnerId ?? partnerId;
    if (!owner) throw ValidationError.forField('partnerId', 'is required');
    if (partnerId) await this.assertPartner(caller, partnerId);
    const scopes = dto.scopes ?? [...DEFAULT_PARTNER_SCOPES];
    const expiresAt = dto.expiresAt ?? null;
    this.assertValid({ scopes, expiresAt });
    assertCanGrant(caller, scopes, PARTNER_SCOPES);
    return this.tenants.transaction(caller, async (tx) => {
      await this.limits.assertBelowLimit(tx, 'partnerPrincipal', owner);
      const row = await this.repository.create(tx, {
        partnerId: owner,
        name: dto.name,
        description: dto.description ?? null,
        scopes,
        expiresAt,
        sourceCidrs: dto.sourceCidrs ?? [],
        createdBy: caller.userId,
      });
      await this.audit.record(tx, caller, 'partner_service_principal.create', partnerPrincipalResource(row), {
        scopes,
        sourceCidrs: row.sourceCidrs,
        expiresAt: row.expiresAt,
      });
      return toPartnerPrincipalDto(row, []);
    });
  }

  /**
   * Changes a principal; the change applies to all its keys at once. Disabling is temporary: once the principal is enabled
   * again, the keys that were not revoked work as before.
   * @throws ValidationError, InvalidExpiry, NotFoundError, PermissionNotDelegable, PrincipalNameTaken,
   *   KeyLimitExceeded
   */
  async update(caller: UserCaller, id: string, dto: UpdatePartnerPrincipalDto): Promise<PartnerPrincipalDto> {
    if (isEmptyUpdate(dto)) throw ValidationError.nothingToChange();
    this.assertValid(dto);
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.repository.lock(tx, id);
      const requested = applyUpdate(before, dto);
      assertCanGrant(caller, grantedScopes(before, requested, this.clock.now()), PARTNER_SCOPES);
      if (requested.status === 'active' && before.status === 'disabled') {
        await this.limits.assertBelowLimit(tx, 'partnerPrincipal', before.partnerId);
      }
      const after = await this.repository.change(tx, requested);
      const changes = describeChanges(before, after);
      await this.audit.record(tx, caller, 'partner_service_principal.update', partnerPrincipalResource(after), {
        changes,
      });
      const isDisabled = after.status === 'disabled' && before.status !== 'disabled';
      const active = await this.keys.listActiveWithHashes(tx, id);
      await this.outbox.publish(tx, partnerKeysChanged(active, isDisabled ? 'principal_disabled' : 'updated'));
      return toPartnerPrincipalDto(after, await this.keys.listOfPrincipals(tx, [id]));
    });
  }

  private assertValid({ scopes = [], expiresAt }: Pick<UpdatePartnerPrincipalDto, 'scopes' | 'expiresAt'>): void {
    const unknown = scopes.filter((scope) => !Object.hasOwn(PARTNER_SCOPES, scope));
    if (unknown.length) throw ValidationError.forField('scopes', `unknown scopes: ${unknown.join(', ')}`);
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
  }

  /** @throws PartnerAccessDenied for a partner that the caller has no access to or that does not exist */
  private async assertPartner(caller: UserCaller, partnerId: string): Promise<void> {
    if (partnerId === caller.partnerId) return;
    if (caller.scope !== 'system' || !(await this.partners.find(partnerId))) throw new PartnerAccessDenied();
  }
}
