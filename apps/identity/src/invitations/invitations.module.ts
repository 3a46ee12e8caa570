import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { Inviter } from './inviter.js';
import { AcceptInvitationController } from './accept-invitation.controller.js';
import { InvitationsController } from './invitations.controller.js';
import { InvitationsRepository } from './invitations.repository.js';
import { InvitationsService } from './invitations.service.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersModule } from '../members/members.module.js';
import { UsersModule } from '../users/users.module.js';

/** Invitations of new members. */
@Module({
  imports: [
    AccessChangesModule,
    MailModule,
    MemberScopeModule,
    MembersModule,
    PasswordsModule,
    RolesModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [AcceptInvitationController, InvitationsController],
  providers: [Inviter, InvitationsRepository, InvitationsService],
  exports: [Inviter],
})
export class InvitationsModule {}
