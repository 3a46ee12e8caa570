import 'reflect-metadata';
import { JetStreamServer } from '@rmm/messaging';
import { startService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readWebhookDispatcherConfig } from './config.js';

const config = readWebhookDispatcherConfig(process.env);
await startService({
  service: 'webhook-dispatcher',
  module: AppModule.forRoot(config) as never,
  config,
  openApi: { title: 'Webhook dispatcher', description: 'Webhooks, their deliveries and retries.' },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
});
