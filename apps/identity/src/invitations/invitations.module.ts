import { Module } from '@nestjs/common';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersModule } from '../members/members.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { InvitationAcceptanceController } from './invitation-acceptance.controller.js';
import { InvitationAcceptanceService } from './invitation-acceptance.service.js';
import { InvitationsRepositoryModule } from './invitations-repository.module.js';
import { InvitationsController } from './invitations.controller.js';
import { InvitationsService } from './invitations.service.js';

/** Invitations of new members. */
@Module({
  imports: [
    InvitationsRepositoryModule,
    MembersModule,
    MemberScopeModule,
    MfaModule,
    PasswordsModule,
    RolesModule,
    SessionsModule,
  ],
  controllers: [InvitationAcceptanceController, InvitationsController],
  providers: [InvitationAcceptanceService, InvitationsService],
  exports: [InvitationAcceptanceService],
})
export class InvitationsModule {}
