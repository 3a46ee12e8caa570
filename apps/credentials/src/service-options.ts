import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import type { CredentialsConfig } from './config.js';
import { readExamples } from './openapi-examples.js';

/** What makes this process the credentials service; shared by `main.ts` and the specs that boot it. */
export const serviceOptions = (config: CredentialsConfig): ServiceOptions => ({
  service: 'credentials',
  module: AppModule.forRoot(config),
  config,
  openApi: {
    title: 'Credentials',
    description: 'API keys, enrollment keys, service principals and partner principals.',
    examples: readExamples,
  },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
});
