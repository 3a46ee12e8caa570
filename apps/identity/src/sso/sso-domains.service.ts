import { Inject, Injectable } from '@nestjs/common';
import { isSiteRestricted, SiteAccessDenied, type UserCaller } from '@rmm/access';
import { AuditTrail, resourceOf } from '@rmm/messaging';
import { TxtResolver } from '@rmm/outbound';
import { isUniqueViolation, TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { equalInConstantTime, mintOpaqueToken } from '@rmm/secrets';
import { UnavailableError } from '@rmm/service-kit';
import { toPage, type Paged } from '@rmm/validation';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MemberScopeService } from '../members/member-scope.service.js';
import type { CreateSsoDomainDto, ListSsoDomainsDto, SsoDomainDto } from './dto/sso-domain.dto.js';
import type { SsoDomain } from './sso-domain.entity.js';
import { recordNameOf, toDomainDto } from './sso-domain.mapper.js';
import { SsoDomainsRepository } from './sso-domains.repository.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { DomainNotVerified, DomainTaken, OrganizationContextRequired, TooManySsoDomains } from './sso.errors.js';

const MAX_DOMAINS = 50;
const VALUE_PREFIX = 'sso-domain-verification=';

/**
 * E-mail domains that an organization proves by a TXT record: only for those does its identity provider speak for
 * accounts that exist already. @see docs/reference/sso.md
 */
@Injectable()
export class SsoDomainsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly domains: SsoDomainsRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly scopes: MemberScopeService,
    private readonly resolver: TxtResolver,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async list(caller: UserCaller, query: ListSsoDomainsDto): Promise<Paged<SsoDomainDto>> {
    const { orgId } = await this.resolveOrganization(caller, query.orgId);
    const { rows, ...counted } = await this.domains.list(caller, orgId, query);
    return toPage(query, counted, rows.map(toDomainDto));
  }

  /** Claims a domain; claiming it again returns the same record. @throws DomainTaken, TooManySsoDomains */
  async create(caller: UserCaller, dto: CreateSsoDomainDto): Promise<SsoDomainDto> {
    assertUnrestricted(caller);
    const owner = await this.resolveOrganization(caller, dto.orgId);
    const provenBy = await this.providers.findDomainOwner(dto.domain);
    if (provenBy !== null && provenBy !== owner.orgId) throw new DomainTaken();
    return this.tenants.transaction(caller, async (tx) => {
      await this.domains.lockOrganization(tx, owner.orgId);
      if ((await this.domains.countOf(tx, owner.orgId)) >= MAX_DOMAINS) throw new TooManySsoDomains(MAX_DOMAINS);
      const txtRecordValue = VALUE_PREFIX + mintOpaqueToken().key;
      const { row, isNew } = await this.domains.create(tx, { ...owner, domain: dto.domain, txtRecordValue });
      if (isNew) await this.audit.record(tx, caller, 'sso.domain.create', auditedDomain(row));
      return toDomainDto(row);
    });
  }

  /**
   * Looks the TXT record up. Once proven a domain stays so.
   * @throws NotFoundError, DomainNotVerified, DomainTaken; UnavailableError without a name server; RateLimitedError
   */
  async verify(caller: UserCaller, id: string): Promise<SsoDomainDto> {
    assertUnrestricted(caller);
    await this.limits.hit(this.config.limits.ssoProviderTest, caller.userId);
    const before = await this.domains.get(caller, id);
    if (before.verifiedAt !== null) return toDomainDto(before);
    if (!(await this.hasRecord(before))) {
      await this.audit.recordDirect(
        caller,
        'sso.domain.verify',
        auditedDomain(before),
        { reason: 'not_found' },
        'failure',
      );
      throw new DomainNotVerified();
    }
    try {
      return await this.tenants.transaction(caller, async (tx) => {
        const row = await this.domains.markVerified(tx, id);
        await this.audit.record(tx, caller, 'sso.domain.verify', auditedDomain(row));
        return toDomainDto(row);
      });
    } catch (cause) {
      if (!isUniqueViolation(cause, 'sso_domain_verified_key')) throw cause;
      throw new DomainTaken(undefined, { cause });
    }
  }

  /** @throws NotFoundError */
  async remove(caller: UserCaller, id: string): Promise<void> {
    assertUnrestricted(caller);
    await this.tenants.transaction(caller, async (tx) => {
      const row = await this.domains.get(tx, id);
      await this.domains.remove(tx, id);
      await this.audit.record(tx, caller, 'sso.domain.delete', auditedDomain(row), {
        verified: row.verifiedAt !== null,
      });
    });
  }

  private async hasRecord({ domain, txtRecordValue }: SsoDomain): Promise<boolean> {
    try {
      const records = await this.resolver.resolveTxt(recordNameOf(domain));
      return records.some((record) => equalInConstantTime(record.trim(), txtRecordValue));
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
  }

  private async resolveOrganization(caller: UserCaller, orgId: string | undefined) {
    if (caller.scope !== 'organization' && orgId === undefined) throw new OrganizationContextRequired();
    const scope = await this.scopes.resolve(caller, { orgId });
    if (scope.kind === 'partner') throw new OrganizationContextRequired();
    return { partnerId: scope.partnerId, orgId: scope.orgId };
  }
}

const auditedDomain = ({ id, domain, orgId, partnerId }: SsoDomain) =>
  resourceOf('sso_domain', { id, name: domain, orgId, partnerId });

function assertUnrestricted(caller: UserCaller): void {
  if (isSiteRestricted(caller)) throw new SiteAccessDenied();
}
