import { Injectable } from '@nestjs/common';
import {
  TenantDatabase,
  TenantRepository,
  type PageRequest,
  type PageRows,
  type Source,
  type SqlExecutor,
  type TenantTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { SsoDomain } from './sso-domain.entity.js';

/** E-mail domains of organizations. Row-level security limits callers to their own. */
@Injectable()
export class SsoDomainsRepository extends TenantRepository<SsoDomain> {
  constructor(tenants: TenantDatabase) {
    super(tenants, SsoDomain, () => new NotFoundError('SSO domain'));
  }

  list(source: Source, orgId: string, page: PageRequest): Promise<PageRows<SsoDomain>> {
    return this.listPage(source, { where: { orgId }, page });
  }

  get(source: Source, id: string): Promise<SsoDomain> {
    return this.getOne(source, { where: { id } });
  }

  countOf(tx: TenantTransaction, orgId: string): Promise<number> {
    return this.count(tx, { where: { orgId } });
  }

  /** Makes concurrent creates of one organization wait for each other. */
  async lockOrganization(tx: SqlExecutor, orgId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('sso-domains:' || :orgId, 0))`, { orgId });
  }

  /** @returns the domain, also when the organization has it already */
  async create(
    tx: TenantTransaction,
    domain: Pick<SsoDomain, 'partnerId' | 'orgId' | 'domain' | 'txtRecordValue'>,
  ): Promise<{ row: SsoDomain; isNew: boolean }> {
    const found = await this.findOne(tx, { where: { orgId: domain.orgId, domain: domain.domain } });
    return found ? { row: found, isNew: false } : { row: await this.insert(tx, domain), isNew: true };
  }

  /** @throws a unique violation of `sso_domain_verified_key` when another organization has proven the domain */
  markVerified(tx: TenantTransaction, id: string): Promise<SsoDomain> {
    return this.updateOne(tx, { id }, { verifiedAt: () => 'coalesce(verified_at, now())' });
  }

  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }
}
