import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { OnIntegrationEvent } from '@rmm/messaging';
import { OrganizationDirectory } from './organization-directory.service.js';

/** Stores the organizations that provisioning publishes in `organization_directory`. */
@Controller()
export class OrganizationDirectoryConsumer {
  constructor(private readonly directory: OrganizationDirectory) {}

  @OnIntegrationEvent('organization.created', 'organization.updated', 'organization.deleted')
  onOrganizationChanged(
    event: IntegrationEvent<'organization.created' | 'organization.updated' | 'organization.deleted'>,
  ): Promise<void> {
    return this.directory.receive(event);
  }

  @OnIntegrationEvent('organizations.changed')
  onOrganizationsChanged(event: IntegrationEvent<'organizations.changed'>): Promise<void> {
    return this.directory.receiveSet(event);
  }
}
