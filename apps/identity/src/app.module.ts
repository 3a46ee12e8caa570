import { Module, type DynamicModule } from '@nestjs/common';
import { AccessModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ServiceKitModule } from '@rmm/service-kit';
import { accessFeature } from './access/access.feature.js';
import { accountFeature } from './account/account.feature.js';
import { auditFeature } from './audit/audit.feature.js';
import { bootstrapFeature } from './bootstrap/bootstrap.feature.js';
import { IDENTITY_CONFIG, type IdentityConfig } from './config.js';
import type { Feature } from './feature.js';
import { loginFeature } from './login/login.feature.js';
import { PasswordHasher } from './login/password-hasher.js';
import { MailModule } from './mail/mail.module.js';
import { mfaFeature } from './mfa/mfa.feature.js';
import { MIGRATIONS } from './migrations/index.js';
import { Partner } from './partners/partner.entity.js';
import { partnersFeature } from './partners/partners.feature.js';
import { ForgotPasswordQueueModule } from './passwords/forgot-password-queue.js';
import { passwordsFeature } from './passwords/passwords.feature.js';
import { publicConfigFeature } from './public-config/public-config.feature.js';
import { registrationFeature } from './registration/registration.feature.js';
import { resealingFeature } from './resealing/resealing.feature.js';
import { rolesFeature } from './roles/roles.feature.js';
import { securityPolicyFeature } from './security-policy/security-policy.feature.js';
import { sessionsFeature } from './sessions/sessions.feature.js';
import { signingKeysFeature } from './signing-keys/signing-keys.feature.js';
import { usersFeature } from './users/users.feature.js';

const SERVICE = 'identity';

/** Routes are matched in this order: `/users/me` stands before `/users/:id`. */
const FEATURES: readonly Feature[] = [
  accessFeature,
  accountFeature,
  auditFeature,
  bootstrapFeature,
  loginFeature,
  mfaFeature,
  partnersFeature,
  passwordsFeature,
  publicConfigFeature,
  registrationFeature,
  resealingFeature,
  rolesFeature,
  securityPolicyFeature,
  sessionsFeature,
  signingKeysFeature,
  usersFeature,
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
        ForgotPasswordQueueModule,
      ],
      controllers: FEATURES.flatMap(({ controllers }) => controllers),
      providers: FEATURES.flatMap(({ providers }) => providers),
    };
  }
}
