import { Module } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { UsersModule } from '../users/users.module.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { InvitationsRepository } from './invitations.repository.js';

/** Stored invitations and their links; kept apart from InvitationsModule because members and passwords depend on them. */
@Module({
  imports: [MailModule, MembersRepositoryModule, RolesModule, UsersModule],
  providers: [InvitationLinksService, InvitationsRepository],
  exports: [InvitationLinksService, InvitationsRepository],
})
export class InvitationsRepositoryModule {}
