import { Controller, Inject, Optional } from '@nestjs/common';
import type { Envelope, OrganizationState } from '@rmm/contracts';
import { Inbox, OnIntegrationEvent } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { ORGANIZATION_LISTENER, type OrganizationListener } from '../access.tokens.js';
import { OrganizationDirectory } from './organization-directory.service.js';

/** Stores the organization events of provisioning in `organization_directory`. */
@Controller()
export class OrganizationDirectoryConsumer {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly inbox: Inbox,
    @Optional() @Inject(ORGANIZATION_LISTENER) private readonly listener?: OrganizationListener,
  ) {}

  @OnIntegrationEvent('organization.created', 'organization.updated', 'organization.deleted')
  async onOrganizationChanged(envelope: Envelope<OrganizationState>): Promise<void> {
    const apply = async (tx: WorkerTransaction) => {
      await this.directory.apply(tx, [envelope.data]);
      if (envelope.type !== 'organization.created') await this.listener?.organizationChanged(tx, envelope.data);
    };
    await this.inbox.once(envelope, apply, 'organization-directory');
  }
}
