import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import {
  isUniqueViolation,
  TenantDatabase,
  TenantRepository,
  type HasTenant,
  type PageRequest,
  type PageRows,
  type TenantTransaction,
} from '@rmm/persistence';
import { PartnerPrincipal } from './partner-principal.entity.js';
import { PartnerPrincipalNotFound, PrincipalNameTaken } from './partner-principal.errors.js';

export type NewPartnerPrincipal = Pick<
  PartnerPrincipal,
  'partnerId' | 'name' | 'description' | 'scopes' | 'expiresAt' | 'sourceCidrs' | 'createdBy'
>;

@Injectable()
export class PartnerPrincipalsRepository extends TenantRepository<PartnerPrincipal> {
  constructor(tenants: TenantDatabase) {
    super(tenants, PartnerPrincipal, () => new PartnerPrincipalNotFound(), { ownership: 'partner' });
  }

  /** Lists a page, newest first. */
  list(caller: UserCaller, partnerId: string | undefined, page: PageRequest): Promise<PageRows<PartnerPrincipal>> {
    return this.listPage(caller, { where: { partnerId }, page });
  }

  /** @throws PartnerPrincipalNotFound */
  get(caller: UserCaller, id: string): Promise<PartnerPrincipal> {
    return this.getOne(caller, { where: { id } });
  }

  /** Returns whether the principal ends at a time or works from some addresses only; false for one that the caller does not see. */
  async isRestricted(source: HasTenant, id: string): Promise<boolean> {
    const principal = await this.findOne(source, { where: { id }, columns: ['expiresAt', 'sourceCidrs'] });
    return principal !== null && (principal.expiresAt !== null || principal.sourceCidrs.length > 0);
  }

  /** @throws PrincipalNameTaken */
  async create(tx: TenantTransaction, principal: NewPartnerPrincipal): Promise<PartnerPrincipal> {
    return this.insert(tx, principal).catch(rethrowNameTaken);
  }

  /** Stores everything that may change. @throws PrincipalNameTaken */
  async change(tx: TenantTransaction, principal: PartnerPrincipal): Promise<PartnerPrincipal> {
    const { id, name, description, status, scopes, expiresAt, sourceCidrs } = principal;
    const changes = { name, description, status, scopes, expiresAt, sourceCidrs };
    return this.updateOne(tx, { id }, changes).catch(rethrowNameTaken);
  }

  /** Locks the principal while it or its keys change. @throws PartnerPrincipalNotFound */
  lock(tx: TenantTransaction, id: string): Promise<PartnerPrincipal> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }
}

function rethrowNameTaken(error: unknown): never {
  throw isUniqueViolation(error, 'partner_principal_name')
    ? new PrincipalNameTaken(undefined, { cause: error })
    : error;
}
