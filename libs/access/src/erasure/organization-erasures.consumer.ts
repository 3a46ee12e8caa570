import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import { OrganizationDirectory } from '../directory/organization-directory.service.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

/** Notes the organizations whose data has to be erased. */
@Controller()
export class OrganizationErasuresConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly organizations: OrganizationDirectory,
    private readonly erasures: OrganizationErasuresRepository,
  ) {}

  @OnIntegrationEvent('organization.erased')
  async organizationErased(event: IntegrationEvent<'organization.erased'>): Promise<void> {
    await this.organizations.find(event.data.orgId); // stores a row that the erasure refers to
    await this.inbox.once(event, (tx) => this.erasures.add(tx, event.data));
  }
}
