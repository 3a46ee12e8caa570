import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { UsersModule } from '../users/users.module.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { InvitationsRepository } from './invitations.repository.js';
import { MembershipAcceptanceService } from './membership-acceptance.service.js';

/** Stored invitations and their links; kept apart from InvitationsModule because logins and passwords depend on them. */
@Module({
  imports: [AccessChangesModule, MailModule, MembersRepositoryModule, UsersModule],
  providers: [InvitationLinksService, InvitationsRepository, MembershipAcceptanceService],
  exports: [InvitationLinksService, InvitationsRepository, MembershipAcceptanceService],
})
export class InvitationsRepositoryModule {}
