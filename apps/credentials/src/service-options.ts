import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { type CredentialsConfig, readCredentialsConfig } from './config.js';
import { readExamples } from './openapi-examples.js';

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<CredentialsConfig> = {
  service: 'credentials',
  readConfig: readCredentialsConfig,
  openApi: {
    title: 'Credentials',
    description: 'API keys, enrollment keys, service principals and partner principals.',
    examples: readExamples,
  },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
