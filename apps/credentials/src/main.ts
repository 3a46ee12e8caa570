import 'reflect-metadata';
import { JetStreamServer } from '@rmm/messaging';
import { runService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readCredentialsConfig } from './config.js';

await runService(() => {
  const config = readCredentialsConfig(process.env);
  return {
    service: 'credentials',
    module: AppModule.forRoot(config),
    config,
    openApi: { title: 'Credentials', description: 'API keys, enrollment keys and partner principals.' },
    microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
  };
});
