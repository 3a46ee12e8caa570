import type { MicroserviceOptions } from '@nestjs/microservices';
import { JetStreamServer } from '@rmm/messaging';
import { readExamples, type ServiceOptions } from '@rmm/service-kit';
import { AVATAR_BODY, AVATAR_TIMEOUT } from './account/avatar-form.js';
import { ACCOUNT_FORM_BODY, ACCOUNT_PATHS } from './account-pages/account-pages.controller.js';
import { VERIFY_TIMEOUT } from './audit/chain-verification.service.js';
import { type IdentityConfig, readIdentityConfig } from './config.js';
import { SCIM_BODY, SCIM_ERRORS } from './scim/scim.config.js';
import { BACKCHANNEL_LOGOUT_BODY } from './sso/backchannel-logout.controller.js';

/** Calls recorded by `openapi.spec.ts`, shown with their operations; in the folder of `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<IdentityConfig> = {
  service: 'identity',
  readConfig: readIdentityConfig,
  unprefixed: ACCOUNT_PATHS,
  openApi: {
    title: 'Identity',
    description: 'Partners, users, memberships, roles, sessions, MFA and the audit trail',
    tags: [
      { name: 'Account', description: 'Profile, picture and settings of the signed-in user' },
      { name: 'Audit', description: 'The audit trail of a tenant: search, export and verification' },
      { name: 'Authentication', description: 'Login, sessions, passwords and the public keys of access tokens' },
      { name: 'Configuration', description: 'What clients need to know before the login' },
      { name: 'MFA', description: 'Second factors, recovery codes and step-up' },
      { name: 'Partners', description: 'Partners, which are the customers of the platform' },
      { name: 'Passkeys', description: 'Passkeys as a login and as a second factor' },
      { name: 'Registration', description: 'Registration, verification of addresses and invitations' },
      { name: 'Roles', description: 'Roles, their permissions and their users' },
      { name: 'SCIM', description: 'Provisioning of users and groups by an identity provider (SCIM 2.0)' },
      { name: 'Single sign-on', description: 'Identity providers, domains and logins by OpenID Connect' },
      { name: 'Users', description: 'Members of a tenant and their roles' },
    ],
    examples: () => readExamples(EXAMPLES_FILE),
  },
  bodyLimits: [ACCOUNT_FORM_BODY, AVATAR_BODY, BACKCHANNEL_LOGOUT_BODY, SCIM_BODY],
  errorBodies: SCIM_ERRORS,
  timeouts: [AVATAR_TIMEOUT, VERIFY_TIMEOUT],
  microservices: (app) => {
    app.connectMicroservice<MicroserviceOptions>({ strategy: app.get(JetStreamServer) });
  },
};
