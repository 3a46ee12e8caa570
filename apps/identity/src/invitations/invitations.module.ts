import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersModule } from '../members/members.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { InvitationAcceptanceController } from './invitation-acceptance.controller.js';
import { InvitationAcceptanceService } from './invitation-acceptance.service.js';
import { InvitationSenderService } from './invitation-sender.service.js';
import { InvitationsController } from './invitations.controller.js';
import { InvitationsRepository } from './invitations.repository.js';
import { InvitationsService } from './invitations.service.js';

/** Invitations of new members. */
@Module({
  imports: [
    AccessChangesModule,
    MailModule,
    MembersModule,
    MemberScopeModule,
    PasswordsModule,
    RolesModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [InvitationAcceptanceController, InvitationsController],
  providers: [InvitationAcceptanceService, InvitationSenderService, InvitationsRepository, InvitationsService],
  exports: [InvitationSenderService, InvitationsRepository],
})
export class InvitationsModule {}
