import type { ServiceOptions } from '@rmm/service-kit';
import { AppModule } from './app.module.js';
import type { PartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp-pipeline.js';

/** The options of the partner gateway, for `main.ts` and the specs that start it. */
export const serviceOptions = (config: PartnerGatewayConfig): ServiceOptions => ({
  service: 'partner-gateway',
  module: AppModule.forRoot(config),
  config,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'Partner interface for integrations (partner keys) and MCP for language models (API keys).',
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
});
