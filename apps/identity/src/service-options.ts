import type { MicroserviceOptions } from '@nestjs/microservices';
import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { AVATAR_BODY, AVATAR_TIMEOUT } from './account/avatar-form.js';
import { VERIFY_TIMEOUT } from './audit/chain-verification.service.js';
import { type IdentityConfig, readIdentityConfig } from './config.js';
import { readExamples } from './openapi-examples.js';

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<IdentityConfig> = {
  service: 'identity',
  readConfig: readIdentityConfig,
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
};
