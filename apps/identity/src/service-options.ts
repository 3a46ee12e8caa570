import type { MicroserviceOptions } from '@nestjs/microservices';
import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { AVATAR_BODY, AVATAR_TIMEOUT } from './account/avatar-form.js';
import { AppModule } from './app.module.js';
import { VERIFY_TIMEOUT } from './audit/chain-verification.service.js';
import type { IdentityConfig } from './config.js';
import { readExamples } from './openapi-examples.js';

/** Options with which `main.ts` and the specs start identity. */
export const serviceOptions = (config: IdentityConfig): ServiceOptions => ({
  service: 'identity',
  module: AppModule.forRoot(config),
  config,
  openApi: {
    title: 'Identity',
    description: 'Partners, users, memberships, roles, sessions, MFA and the audit trail',
    examples: readExamples,
  },
  bodyLimits: [AVATAR_BODY],
  timeouts: [AVATAR_TIMEOUT, VERIFY_TIMEOUT],
  microservices: (app) => {
    app.connectMicroservice<MicroserviceOptions>({ strategy: app.get(JetStreamServer) });
  },
});
