import { Controller, Inject, Optional } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import {
  type Envelope,
  ORGANIZATION_CREATED,
  ORGANIZATION_DELETED,
  ORGANIZATION_UPDATED,
  type OrganizationState,
  subjects,
} from '@rmm/contracts';
import { Inbox } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { ORGANIZATION_LISTENER, type OrganizationListener } from '../access.tokens.js';
import { OrganizationDirectory } from './organization-directory.service.js';

const SUBJECTS = [ORGANIZATION_CREATED, ORGANIZATION_UPDATED, ORGANIZATION_DELETED].map((type) =>
  subjects.internal('provisioning', type),
);

/** Stores the organization events of provisioning in `organization_directory`. */
@Controller()
export class OrganizationDirectoryConsumer {
  constructor(
    private readonly directory: OrganizationDirectory,
    private readonly inbox: Inbox,
    @Optional() @Inject(ORGANIZATION_LISTENER) private readonly listener?: OrganizationListener,
  ) {}

  @EventPattern(SUBJECTS)
  async onOrganizationChanged(@Payload() envelope: Envelope<OrganizationState>): Promise<void> {
    const apply = async (tx: WorkerTransaction) => {
      await this.directory.apply(tx, [envelope.data]);
      if (envelope.type !== ORGANIZATION_CREATED) await this.listener?.organizationChanged(tx, envelope.data);
    };
    await this.inbox.once(envelope, apply, 'organization-directory');
  }
}
