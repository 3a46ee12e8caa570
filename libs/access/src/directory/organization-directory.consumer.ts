import { Controller } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import {
  type Envelope,
  ORGANIZATION_CREATED,
  ORGANIZATION_DELETED,
  ORGANIZATION_UPDATED,
  type OrganizationFact,
  subjects,
} from '@rmm/contracts';
import { Inbox } from '@rmm/messaging';
import { OrganizationDirectory } from './organization-directory.js';

const SUBJECTS = [ORGANIZATION_CREATED, ORGANIZATION_UPDATED, ORGANIZATION_DELETED].map((fact) =>
  subjects.internal('provisioning', fact),
);

/** Keeps `organization_directory` in step with provisioning. */
@Controller()
export class OrganizationDirectoryConsumer {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly inbox: Inbox,
  ) {}

  @EventPattern(SUBJECTS)
  async organizationChanged(@Payload() envelope: Envelope<OrganizationFact>): Promise<void> {
    await this.inbox.once(envelope, (tx) => this.directory.apply(tx, [envelope.data]), 'organization-directory');
  }
}
