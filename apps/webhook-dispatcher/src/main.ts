import 'reflect-metadata';
import { JetStreamServer } from '@rmm/messaging';
import { runService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readWebhookDispatcherConfig } from './config.js';
import { readExamples } from './openapi-examples.js';

await runService(() => {
  const config = readWebhookDispatcherConfig(process.env);
  return {
    service: 'webhook-dispatcher',
    module: AppModule.forRoot(config),
    config,
    openApi: {
      title: 'Webhook dispatcher',
      description: 'Webhooks, their deliveries and retries.',
      examples: readExamples,
    },
    microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
  };
});
