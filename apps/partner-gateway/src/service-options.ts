import type { ServiceOptions } from '@rmm/service-kit';
import { type PartnerGatewayConfig, readPartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp.config.js';

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<PartnerGatewayConfig> = {
  service: 'partner-gateway',
  readConfig: readPartnerGatewayConfig,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'Partner interface for integrations (partner keys) and MCP for language models (API keys).',
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
};
