import { All, Controller, Req, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiKeyNotAcceptedHere, Public } from '@rmm/access';
import { type KitRequest, MethodNotAllowedError, NotFoundError } from '@rmm/service-kit';
import { McpChallengeFilter } from './mcp-error.filter.js';

/** Refuses every other request under /mcp. @see docs/reference/mcp.md */
@ApiExcludeController()
@Controller('mcp')
@Public()
@UseFilters(McpChallengeFilter)
export class McpFallbackController {
  @All(['', '*path'])
  refuse(@Req() { method, headers }: KitRequest): never {
    if (headers['x-api-key'] !== undefined) throw new ApiKeyNotAcceptedHere();
    if (method === 'POST') throw new NotFoundError();
    throw new MethodNotAllowedError(undefined, { headers: { Allow: 'POST' } });
  }
}
