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
    tags: [
      { name: 'API keys', description: 'Keys of an organization for scripts and integrations' },
      { name: 'Enrollment keys', description: 'Keys that agents enroll with' },
      {
        name: 'Partner service principals',
        description: 'Principals of a partner and their keys for the partner interface',
      },
      { name: 'Service principals', description: 'Machine identities of an organization that own API keys' },
    ],
    examples: readExamples,
  },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
