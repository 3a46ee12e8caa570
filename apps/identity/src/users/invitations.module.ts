import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { Inviter } from './inviter.js';
import { AcceptInvitationController } from './accept-invitation.controller.js';
import { InvitationsController } from './invitations.controller.js';
import { InvitesRepository } from './invites.repository.js';
import { InvitesService } from './invites.service.js';
import { MemberScopeModule } from './member-scope.module.js';
import { MembershipsModule } from './memberships.module.js';
import { UsersModule } from './users.module.js';

/** Invitations of new members. */
@Module({
  imports: [
    AccessChangesModule,
    MailModule,
    MemberScopeModule,
    MembershipsModule,
    PasswordsModule,
    RolesModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [AcceptInvitationController, InvitationsController],
  providers: [Inviter, InvitesRepository, InvitesService],
  exports: [Inviter],
})
export class InvitationsModule {}
