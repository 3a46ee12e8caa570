import { Injectable } from '@nestjs/common';
import { PartnerAccessDenied, type UserCaller } from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { DEFAULT_PARTNER_SCOPES, PARTNER_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { Clock, ValidationError, toPage, type PageQueryDto } from '@rmm/service-kit';
import { assertMayGrant } from '../scope-checks.js';
import type { CreatePartnerPrincipalDto } from './dto/create-partner-principal.dto.js';
import { toPartnerPrincipalDto, type PartnerPrincipalDto } from './dto/partner-principal.dto.js';
import type { UpdatePartnerPrincipalDto } from './dto/update-partner-principal.dto.js';
import { partnerKeysChanged } from './partner-keys-changed.js';
import { InvalidExpiry } from './partner-principal.errors.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';
import { changed, differences, namesNoField, scopesGranted } from './principal-changes.js';
import { principalResource } from './principal-resource.js';

/** Partner principals: who a partner's own systems are at the partner interface. @see CONTRACT.md 4.4.5 */
@Injectable()
export class PartnerPrincipalsService {
  constructor(
    private readonly repository: PartnerPrincipalsRepository,
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
    const { rows, total } = await this.repository.list(caller, partnerId ?? null, page);
    const ids = rows.map((row) => row.id);
    const keys = ids.length ? await this.repository.listKeys(caller, ids) : [];
    return toPage(
      page,
      total,
      rows.map((row) => toPartnerPrincipalDto(row, keys)),
    );
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<PartnerPrincipalDto> {
    const row = await this.repository.get(caller, id);
    return toPartnerPrincipalDto(row, await this.repository.listKeys(caller, [id]));
  }

  /** @throws PartnerAccessDenied, ValidationError, PermissionNotDelegable, InvalidExpiry, PrincipalNameTaken */
  async create(
    caller: UserCaller,
    partnerId: string | undefined,
    dto: CreatePartnerPrincipalDto,
  ): Promise<PartnerPrincipalDto> {
    const owner = caller.partnerId ?? partnerId;
    if (!owner) throw ValidationError.of('partnerId', 'is required');
    if (partnerId) await this.assertPartner(caller, partnerId);
    const scopes = dto.scopes ?? [...DEFAULT_PARTNER_SCOPES];
    const expiresAt = dto.expiresAt ?? null;
    this.assertSensible({ scopes, expiresAt });
    assertMayGrant(caller, scopes, PARTNER_SCOPES);
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.insert(tx, {
        partnerId: owner,
        name: dto.name,
        description: dto.description ?? null,
        scopes,
        expiresAt,
        sourceCidrs: dto.sourceCidrs ?? [],
        createdBy: caller.userId,
      });
      await this.audit.record(tx, caller, 'partner_service_principal.create', principalResource(row), {
        scopes,
        sourceCidrs: row.sourceCidrs,
        expiresAt: row.expiresAt,
      });
      return toPartnerPrincipalDto(row, []);
    });
  }

  /**
   * In force at once for every key of the principal. Disabling is a pause, not an end: enabled again, the keys that
   * were not revoked work as before, for a machine may be held back for an hour without a new key. Who fears that a
   * key has leaked revokes it.
   * @throws ValidationError, InvalidExpiry, NotFoundError, PermissionNotDelegable, PrincipalNameTaken
   */
  async update(caller: UserCaller, id: string, dto: UpdatePartnerPrincipalDto): Promise<PartnerPrincipalDto> {
    if (namesNoField(dto)) throw ValidationError.of('body', 'names no field to change');
    this.assertSensible(dto);
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.repository.lock(tx, id);
      const wanted = changed(before, dto);
      assertMayGrant(caller, scopesGranted(before, wanted, this.clock.now()), PARTNER_SCOPES);
      const after = await this.repository.update(tx, wanted);
      const changes = differences(before, after);
      await this.audit.record(tx, caller, 'partner_service_principal.update', principalResource(after), { changes });
      const isDisabled = after.status === 'disabled' && before.status !== 'disabled';
      const keys = await this.repository.lockedKeys(tx, id);
      const inForce = keys.filter(({ status }) => status === 'active');
      await this.outbox.publish(tx, partnerKeysChanged(inForce, isDisabled ? 'principal_disabled' : 'updated'));
      return toPartnerPrincipalDto(after, keys);
    });
  }

  private assertSensible({ scopes = [], expiresAt }: Pick<UpdatePartnerPrincipalDto, 'scopes' | 'expiresAt'>): void {
    const unknown = scopes.filter((scope) => !Object.hasOwn(PARTNER_SCOPES, scope));
    if (unknown.length) throw ValidationError.of('scopes', `unknown scopes: ${unknown.join(', ')}`);
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
  }

  /** @throws PartnerAccessDenied for a partner that is foreign to the caller or does not exist */
  private async assertPartner(caller: UserCaller, partnerId: string): Promise<void> {
    if (partnerId === caller.partnerId) return;
    if (!(await this.repository.seesPartner(caller, partnerId))) throw new PartnerAccessDenied();
  }
}
