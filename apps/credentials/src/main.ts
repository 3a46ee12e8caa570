import 'reflect-metadata';
import { JetStreamServer } from '@rmm/messaging';
import { startService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readCredentialsConfig } from './config.js';

const config = readCredentialsConfig(process.env);
await startService({
  service: 'credentials',
  module: AppModule.forRoot(config) as never,
  config,
  openApi: { title: 'Credentials', description: 'API keys, enrollment keys and partner principals.' },
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
});
