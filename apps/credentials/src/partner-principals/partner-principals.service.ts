import { Injectable } from '@nestjs/common';
import { PartnerAccessDenied, type UserCaller } from '@rmm/access';
import type { Page } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { DEFAULT_PARTNER_SCOPES, PARTNER_SCOPES } from '@rmm/permissions';
import { Tenants } from '@rmm/persistence';
import { Clock, ValidationError, toPage, type PageQueryDto } from '@rmm/service-kit';
import { assertMayGrant } from '../scope-checks.js';
import type { CreatePartnerPrincipalDto } from './dto/create-partner-principal.dto.js';
import { toPartnerPrincipalDto, type PartnerPrincipalDto } from './dto/partner-principal.dto.js';
import { InvalidExpiry } from './partner-principal.errors.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';
import { principalResource } from './principal-resource.js';

@Injectable()
export class PartnerPrincipalsService {
  constructor(
    private readonly repository: PartnerPrincipalsRepository,
    private readonly tenants: Tenants,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

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

  async get(caller: UserCaller, id: string): Promise<PartnerPrincipalDto> {
    const row = await this.repository.get(caller, id);
    return toPartnerPrincipalDto(row, await this.repository.listKeys(caller, [id]));
  }

  async create(
    caller: UserCaller,
    partnerId: string | undefined,
    dto: CreatePartnerPrincipalDto,
  ): Promise<PartnerPrincipalDto> {
    const owner = caller.partnerId ?? partnerId;
    if (!owner) throw ValidationError.of('partnerId', 'is required');
    if (partnerId) await this.assertPartner(caller, partnerId);
    const scopes = dto.scopes ?? [...DEFAULT_PARTNER_SCOPES];
    const unknown = scopes.filter((scope) => !Object.hasOwn(PARTNER_SCOPES, scope));
    if (unknown.length) throw ValidationError.of('scopes', `unknown scopes: ${unknown.join(', ')}`);
    assertMayGrant(caller, scopes, PARTNER_SCOPES);
    const expiresAt = dto.expiresAt ?? null;
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
    return this.tenants.run(caller, async (tx) => {
      const row = await this.repository.insert(tx, {
        partnerId: owner,
        name: dto.name,
        description: dto.description ?? null,
        scopes,
        expiresAt,
        sourceCidrs: dto.sourceCidrs ?? [],
        createdBy: caller.userId,
      });
      await this.audit.add(tx, caller, 'partner_service_principal.create', principalResource(row), {
        scopes,
        sourceCidrs: row.sourceCidrs,
        expiresAt: row.expiresAt,
      });
      return toPartnerPrincipalDto(row, []);
    });
  }

  /** @throws PartnerAccessDenied for a partner that is foreign to the caller or does not exist */
  private async assertPartner(caller: UserCaller, partnerId: string): Promise<void> {
    if (partnerId === caller.partnerId) return;
    if (!(await this.repository.seesPartner(caller, partnerId))) throw new PartnerAccessDenied();
  }
}
