import type { ServiceOptions } from '@rmm/service-kit';
import { type PartnerGatewayConfig, readPartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp-pipeline.js';

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<PartnerGatewayConfig> = {
  service: 'partner-gateway',
  readConfig: readPartnerGatewayConfig,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'What integrations of a partner read, by key; what language models do, by API key.',
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
};
