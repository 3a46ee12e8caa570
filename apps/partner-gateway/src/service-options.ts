import type { ServiceOptions } from '@rmm/service-kit';
import { type PartnerGatewayConfig, readPartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp.config.js';
import { readExamples } from './openapi-examples.js';

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<PartnerGatewayConfig> = {
  service: 'partner-gateway',
  readConfig: readPartnerGatewayConfig,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json', 'asyncapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'Partner interface for integrations (partner keys) and MCP for language models (API keys).',
    examples: readExamples,
    tags: [
      { name: 'MCP', description: 'Model Context Protocol for language models' },
      { name: 'Partner interface', description: 'Bulk reads and writes for the systems of a partner' },
    ],
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
};
