import { type DynamicModule, Module } from '@nestjs/common';
import { ACCESS_SOURCE, AccessModule, VERIFICATION_KEYS } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ServiceKitModule } from '@rmm/service-kit';
import { AccessChanges } from './access/access-changes.js';
import { DatabaseAccessSource } from './access/access-source.js';
import { AccessRpc } from './access/access.rpc.js';
import { AuditLogsController } from './audit/audit-logs.controller.js';
import { AuditLogsService } from './audit/audit-logs.service.js';
import { AuditSealer } from './audit/audit-sealer.js';
import { AuditRepository } from './audit/audit.repository.js';
import { BootstrapAdmin } from './bootstrap/bootstrap-admin.js';
import { FirstStart } from './bootstrap/first-start.js';
import { IDENTITY_CONFIG, type IdentityConfig } from './config.js';
import { AccountLockout } from './login/account-lockout.js';
import { LoginController } from './login/login.controller.js';
import { LoginService } from './login/login.service.js';
import { PasswordHasher } from './login/password-hasher.js';
import { PasswordService } from './login/password.service.js';
import { SessionStarter } from './login/session-starter.js';
import { MailModule } from './mail/mail.module.js';
import { CodeChecker } from './mfa/code-checker.js';
import { FactorsRepository } from './mfa/factors.repository.js';
import { MfaGrace } from './mfa/mfa-grace.js';
import { MfaLoginService } from './mfa/mfa-login.service.js';
import { MfaSetupService } from './mfa/mfa-setup.service.js';
import { MfaController } from './mfa/mfa.controller.js';
import { PendingLogins } from './mfa/pending-logins.js';
import { RedisOnce } from './mfa/redis-once.js';
import { TotpSetups } from './mfa/totp-setups.js';
import { MIGRATIONS } from './migrations/index.js';
import { PartnerMaker } from './partners/partner-maker.js';
import { Partner } from './partners/partner.entity.js';
import { PartnersController } from './partners/partners.controller.js';
import { PartnersService } from './partners/partners.service.js';
import { PublicConfigController } from './public-config/public-config.controller.js';
import { RegistrationController } from './registration/registration.controller.js';
import { RegistrationsRepository } from './registration/registrations.repository.js';
import { SignUpService } from './registration/sign-up.service.js';
import { VerificationService } from './registration/verification.service.js';
import { Grants } from './roles/grants.js';
import { RolesController } from './roles/roles.controller.js';
import { RolesRepository } from './roles/roles.repository.js';
import { RolesService } from './roles/roles.service.js';
import { RoleSeeds } from './roles/seed-roles.js';
import { AccessTokens } from './sessions/access-tokens.js';
import { LogoutService } from './sessions/logout.service.js';
import { RefreshService } from './sessions/refresh.service.js';
import { SessionCookies } from './sessions/session-cookies.js';
import { SessionOpener } from './sessions/session-opener.js';
import { SessionUpkeep } from './sessions/session-upkeep.js';
import { SessionsController } from './sessions/sessions.controller.js';
import { SessionsRepository } from './sessions/sessions.repository.js';
import { SwitchService } from './sessions/switch.service.js';
import { JwksController } from './signing-keys/jwks.controller.js';
import { SigningKeysRepository } from './signing-keys/signing-keys.repository.js';
import { SigningKeys } from './signing-keys/signing-keys.service.js';
import { Inviter } from './users/inviter.js';
import { InvitesController } from './users/invites.controller.js';
import { InvitesRepository } from './users/invites.repository.js';
import { InvitesService } from './users/invites.service.js';
import { MembersRepository } from './users/members.repository.js';
import { PeopleRepository } from './users/people.repository.js';
import { ProfileService } from './users/profile.service.js';
import { RoleAssignmentService } from './users/role-assignment.service.js';
import { UserAxes } from './users/user-axis.js';
import { UsersController } from './users/users.controller.js';
import { UsersService } from './users/users.service.js';

const SERVICE = 'identity';

const access = [
  AccessChanges,
  DatabaseAccessSource,
  { provide: ACCESS_SOURCE, useExisting: DatabaseAccessSource },
  { provide: VERIFICATION_KEYS, useExisting: SigningKeys },
];
const audit = [AuditRepository, AuditSealer, AuditLogsService];
const bootstrap = [RoleSeeds, BootstrapAdmin, FirstStart];
const login = [AccountLockout, LoginService, PasswordService, SessionStarter];
const mfa = [
  CodeChecker,
  FactorsRepository,
  MfaGrace,
  MfaLoginService,
  MfaSetupService,
  PendingLogins,
  RedisOnce,
  TotpSetups,
];
const partners = [PartnerMaker, PartnersService];
const registration = [RegistrationsRepository, SignUpService, VerificationService];
const roles = [Grants, RolesRepository, RolesService];
const sessions = [
  AccessTokens,
  LogoutService,
  RefreshService,
  SessionCookies,
  SessionOpener,
  SessionsRepository,
  SessionUpkeep,
  SwitchService,
];
const signingKeys = [SigningKeys, SigningKeysRepository];
const users = [
  Inviter,
  InvitesRepository,
  InvitesService,
  MembersRepository,
  PeopleRepository,
  ProfileService,
  RoleAssignmentService,
  UserAxes,
  UsersService,
];

/** What every feature may inject. */
@Module({})
class IdentityBasics {
  static forRoot(config: IdentityConfig): DynamicModule {
    const providers = [
      { provide: IDENTITY_CONFIG, useValue: config },
      { provide: KeyRing, useFactory: () => KeyRing.fromConfig(config.secrets) },
      { provide: PasswordHasher, useFactory: () => PasswordHasher.fromConfig(config) },
    ];
    return { module: IdentityBasics, global: true, providers, exports: providers };
  }
}

/** Partners, people, sessions, factors and the audit trail. */
@Module({})
export class AppModule {
  static forRoot(config: IdentityConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ServiceKitModule.forRoot(config, SERVICE),
        PersistenceModule.forRoot({ config, schema: 'identity', entities: [Partner], migrations: MIGRATIONS }),
        MessagingModule.forRoot({ config, service: SERVICE }),
        AccessModule.forRoot({ config, service: SERVICE }),
        IdentityBasics.forRoot(config),
        MailModule,
      ],
      controllers: [
        AccessRpc,
        AuditLogsController,
        InvitesController,
        JwksController,
        LoginController,
        MfaController,
        PartnersController,
        PublicConfigController,
        RegistrationController,
        RolesController,
        SessionsController,
        UsersController,
      ],
      providers: [
        ...access,
        ...audit,
        ...bootstrap,
        ...login,
        ...mfa,
        ...partners,
        ...registration,
        ...roles,
        ...sessions,
        ...signingKeys,
        ...users,
      ],
    };
  }
}
