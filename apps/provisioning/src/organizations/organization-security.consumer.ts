import { Controller } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { ORGANIZATION_SECURITY_UPDATED, subjects, type Envelope, type OrganizationSecurityState } from '@rmm/contracts';
import { Inbox } from '@rmm/messaging';
import { OrganizationSecurityRepository } from './organization-security.repository.js';

/** Follows the security policies that identity keeps of organizations. */
@Controller()
export class OrganizationSecurityConsumer {
  constructor(
    private readonly inbox: Inbox,
    private readonly copies: OrganizationSecurityRepository,
  ) {}

  @EventPattern<string>(subjects.internal('identity', ORGANIZATION_SECURITY_UPDATED))
  async updated(@Payload() envelope: Envelope<OrganizationSecurityState>): Promise<void> {
    await this.inbox.once(envelope, (tx) => this.copies.project(tx, envelope.data));
  }
}
