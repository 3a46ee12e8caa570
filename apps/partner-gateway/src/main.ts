import 'reflect-metadata';
import { startService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readPartnerGatewayConfig } from './config.js';

const config = readPartnerGatewayConfig(process.env);
await startService({
  service: 'partner-gateway',
  module: AppModule.forRoot(config),
  config,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
  openApi: { title: 'Partner gateway', description: 'What integrations of a partner read, by key.' },
});
