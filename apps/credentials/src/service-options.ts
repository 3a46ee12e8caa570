import { JetStreamServer } from '@rmm/messaging';
import { readExamples, type ServiceOptions } from '@rmm/service-kit';
import { type CredentialsConfig, readCredentialsConfig } from './config.js';

/** Calls recorded by `openapi.spec.ts`, shown with their operations; in the folder of `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

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
    examples: () => readExamples(EXAMPLES_FILE),
  },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
