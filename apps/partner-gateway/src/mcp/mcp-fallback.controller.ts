import { All, Controller, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiKeyNotAcceptedHere, Public } from '@rmm/access';
import { type KitRequest, MethodNotAllowedError, NotFoundError } from '@rmm/service-kit';

/** Refuses every other request under /mcp. @see docs/reference/partner-interface.md */
@ApiExcludeController()
@Controller('mcp')
@Public()
export class McpFallbackController {
  @All(['', '*path'])
  refuse(@Req() { method, headers }: KitRequest): never {
    if (headers['x-api-key'] !== undefined) throw new ApiKeyNotAcceptedHere();
    if (method === 'POST') throw new NotFoundError();
    throw new MethodNotAllowedError(undefined, { headers: { Allow: 'POST' } });
  }
}
