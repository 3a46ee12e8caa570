import { readExamples, type ServiceOptions } from '@rmm/service-kit';
import { type PartnerGatewayConfig, readPartnerGatewayConfig } from './config.js';
import { MCP_BODY, MCP_ERRORS } from './mcp/mcp.config.js';

/** Calls recorded by `writes.service.spec.ts`, shown with their operations; in the folder of `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** The options of this service; shared by `main.ts` and the specs that start it. */
export const serviceOptions: ServiceOptions<PartnerGatewayConfig> = {
  service: 'partner-gateway',
  readConfig: readPartnerGatewayConfig,
  unprefixed: ['docs', 'docs/:asset', 'openapi.json', 'asyncapi.json'],
  openApi: {
    title: 'Partner gateway',
    description: 'Partner interface for integrations (partner keys) and MCP for language models (API keys).',
    examples: () => readExamples(EXAMPLES_FILE),
    tags: [
      { name: 'MCP', description: 'Model Context Protocol for language models' },
      { name: 'Partner interface', description: 'Bulk reads and writes for the systems of a partner' },
    ],
  },
  bodyLimits: [MCP_BODY],
  errorBodies: MCP_ERRORS,
};
