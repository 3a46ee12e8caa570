import type { ServiceOptions } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import type { PartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp-pipeline.js';

/** What makes this process the partner gateway; shared by `main.ts` and the specs that boot it. */
export const serviceOptions = (config: PartnerGatewayConfig): ServiceOptions => ({
  service: 'partner-gateway',
  module: AppModule.forRoot(config),
  config,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'What integrations of a partner read, by key; what language models do, by API key.',
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
});
