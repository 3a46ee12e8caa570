import { JetStreamServer } from '@rmm/messaging';
import { readExamples, type ServiceOptions } from '@rmm/service-kit';
import { readWebhookDispatcherConfig, type WebhookDispatcherConfig } from './config.js';

/** Calls recorded by `openapi.spec.ts`, shown with their operations; in the folder of `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<WebhookDispatcherConfig> = {
  service: 'webhook-dispatcher',
  readConfig: readWebhookDispatcherConfig,
  openApi: {
    title: 'Webhook dispatcher',
    description: 'Webhooks, their deliveries and retries.',
    tags: [
      { name: 'Webhooks', description: 'Webhooks, their secrets, deliveries, retries and event types' },
      { name: 'Partner webhooks', description: 'Webhooks that get the events of all organizations of a partner' },
    ],
    examples: () => readExamples(EXAMPLES_FILE),
  },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
