import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule, OrganizationErasureModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ServiceKitModule } from '@rmm/service-kit';
import { AccessSourceModule } from './access/access-source.module.js';
import { AccountModule } from './account/account.module.js';
import { AccountPagesModule } from './account-pages/account-pages.module.js';
import { AuditModule } from './audit/audit.module.js';
import { BootstrapModule } from './bootstrap/bootstrap.module.js';
import { IDENTITY_CONFIG, type IdentityConfig } from './config.js';
import { ENTITIES } from './entities.js';
import { InvitationsModule } from './invitations/invitations.module.js';
import { LoginModule } from './login/login.module.js';
import { MailModule } from './mail/mail.module.js';
import { MembersModule } from './members/members.module.js';
import { MfaModule } from './mfa/mfa.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { OrganizationEraserRepository } from './organization-erasure/organization-eraser.repository.js';
import { OrganizationExportModule } from './organization-export/organization-export.module.js';
import { OrganizationUseModule } from './organization-use/organization-use.module.js';
import { PartnersModule } from './partners/partners.module.js';
import { PasskeysModule } from './passkeys/passkeys.module.js';
import { PasswordsModule } from './passwords/passwords.module.js';
import { PublicConfigModule } from './public-config/public-config.module.js';
import { RegistrationModule } from './registration/registration.module.js';
import { ResealingModule } from './resealing/resealing.module.js';
import { RolesModule } from './roles/roles.module.js';
import { ScimModule } from './scim/scim.module.js';
import { SecurityPolicyModule } from './security-policy/security-policy.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { SigningKeysModule } from './signing-keys/signing-keys.module.js';
import { SmsModule } from './sms/sms.module.js';
import { SsoModule } from './sso/sso.module.js';

const SERVICE = 'identity';

/** Global, so that every module can inject the configuration and the encryption keys. */
@Module({})
export class AppModule {
  static forRoot(config: IdentityConfig): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [
        ServiceKitModule.forRoot(config, SERVICE),
        PersistenceModule.forRoot({ config, schema: 'identity', entities: ENTITIES, migrations: MIGRATIONS }),
        MessagingModule.forRoot({ config, service: SERVICE }),
        AccessModule.forRoot({ config, service: SERVICE }),
        // First: routes match in the order of their modules, and `/users/me` has to match before `/users/:id`.
        AccountModule,
        AccountPagesModule,
        AccessSourceModule,
        AuditModule,
        BootstrapModule,
        InvitationsModule,
        LoginModule,
        MailModule,
        MembersModule,
        MfaModule,
        OrganizationErasureModule.forService('identity', OrganizationEraserRepository),
        OrganizationExportModule,
        OrganizationUseModule,
        PartnersModule,
        PasskeysModule,
        PasswordsModule,
        PublicConfigModule,
        RegistrationModule,
        ResealingModule,
        RolesModule,
        ScimModule,
        SecurityPolicyModule,
        SessionsModule,
        SigningKeysModule,
        SmsModule,
        SsoModule,
      ],
      providers: [
        { provide: IDENTITY_CONFIG, useValue: config },
        { provide: KeyRing, useFactory: () => KeyRing.fromConfig(config.secrets) },
      ],
      exports: [IDENTITY_CONFIG, KeyRing],
    };
  }
}
