import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase, TenantRepository, type PageRows, type TenantTransaction } from '@rmm/persistence';
import { inLiveOrganization, liveOrganizations } from '../tenant-changes/live-organizations.repository.js';
import type { ListServicePrincipalsDto } from './dto/list-service-principals.dto.js';
import { ServicePrincipal, type ServicePrincipalStatus } from './service-principal.entity.js';
import { ServicePrincipalNotFound } from './service-principal.errors.js';

export type NewServicePrincipal = Pick<ServicePrincipal, 'partnerId' | 'orgId' | 'name' | 'scopes' | 'createdBy'>;

@Injectable()
export class ServicePrincipalsRepository extends TenantRepository<ServicePrincipal> {
  constructor(tenants: TenantDatabase) {
    super(tenants, ServicePrincipal, () => new ServicePrincipalNotFound(), { ownership: 'organization' });
  }

  /** Lists a page of the principals of live organizations, newest first. */
  list(caller: UserCaller, { orgId, status, ...page }: ListServicePrincipalsDto): Promise<PageRows<ServicePrincipal>> {
    const conditions = [inLiveOrganization('servicePrincipal')];
    const organizations = liveOrganizations('servicePrincipal');
    return this.listPage(caller, { where: { orgId, status }, conditions, organizations, page });
  }

  /** @throws ServicePrincipalNotFound */
  get(caller: UserCaller, id: string): Promise<ServicePrincipal> {
    return this.getOne(caller, { where: { id } });
  }

  create(tx: TenantTransaction, principal: NewServicePrincipal): Promise<ServicePrincipal> {
    return this.insert(tx, { ...principal, lastUpdatedBy: principal.createdBy });
  }

  /** Locks the principal until the transaction ends, so that its changes are serialized. @throws ServicePrincipalNotFound */
  lock(tx: TenantTransaction, id: string): Promise<ServicePrincipal> {
    return this.getOne(tx, { where: { id }, lock: 'FOR UPDATE' });
  }

  /** Stores who changed the principal last, and its status. */
  setStatus(
    tx: TenantTransaction,
    id: string,
    lastUpdatedBy: string,
    status: ServicePrincipalStatus,
  ): Promise<ServicePrincipal> {
    return this.updateOne(tx, { id }, { status, lastUpdatedBy });
  }
}
