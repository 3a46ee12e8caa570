import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { ValidationError } from '@rmm/service-kit';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { ErasureDto } from './dto/erasure.dto.js';
import type { RequestErasureDto } from './dto/request-erasure.dto.js';
import { toErasureDto } from './erasure.mapper.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

/** Shows the erasure of deleted organizations to their partner, and begins it before its time. */
@Injectable()
export class OrganizationErasureService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly organizations: OrganizationsRepository,
    private readonly erasures: OrganizationErasuresRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws NotFoundError  also for an organization that is not deleted */
  async get(caller: Caller, id: string): Promise<ErasureDto> {
    return toErasureDto(await this.erasures.get(caller, id));
  }

  /**
   * Has a deleted organization erased now; it can no longer be restored. A repeated request changes nothing.
   * @throws NotFoundError  also for an organization that is not deleted; ValidationError  for another slug
   */
  async request(caller: Caller, id: string, { slug }: RequestErasureDto): Promise<ErasureDto> {
    const { requestedAt } = await this.erasures.get(caller, id);
    if (requestedAt !== null) return this.get(caller, id);
    await this.tenants.transaction(caller, async (tx) => {
      const organization = await this.organizations.getDeleted(tx, id);
      if (organization.slug !== slug) throw ValidationError.forField('slug', 'is not the slug of the organization');
      const { name, partnerId } = await this.organizations.markErased(tx, id);
      await this.erasures.request(tx, { id, partnerId });
      const resource = { type: 'organization', id, name, orgId: id, partnerId };
      await this.audit.record(tx, caller, 'organization.erase.request', resource);
    });
    return this.get(caller, id);
  }
}
