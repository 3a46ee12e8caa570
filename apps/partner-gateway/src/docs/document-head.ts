import type { OpenAPIObject } from '@nestjs/swagger';
import { apiOwner } from '@rmm/service-kit';

const DESCRIPTION = `Multi-tenant device management for MSPs. Errors share one body; branch on \`code\` and the status.

**Compatibility.** Within v1, operations, optional parameters, fields and values are only added; ignore what you do not know.
Responses of a deprecated operation have \`Deprecation\` and, when it will be removed, \`Sunset\`, at least 180 days later.`;

/** Returns the OpenAPI document of the fleet without operations. */
export function documentHead(publicApiUrl: string): OpenAPIObject {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fleet API',
      version: '1',
      description: DESCRIPTION,
      ...apiOwner(publicApiUrl),
    },
    servers: [{ url: publicApiUrl, description: 'This fleet' }],
    paths: {},
  };
}
