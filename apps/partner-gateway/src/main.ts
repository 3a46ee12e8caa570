import 'reflect-metadata';
import { runService } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import { readPartnerGatewayConfig } from './config.js';

await runService(() => {
  const config = readPartnerGatewayConfig(process.env);
  return {
    service: 'partner-gateway',
    module: AppModule.forRoot(config),
    config,
    unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
    openApi: { title: 'Partner gateway', description: 'What integrations of a partner read, by key.' },
  };
});
