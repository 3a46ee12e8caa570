import { All, Controller, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiKeyNotAcceptedHere, Public } from '@rmm/access';
import { type KitRequest, MethodNotAllowedError, NotFoundError } from '@rmm/service-kit';

/** Whatever else is asked under /mcp: keys have POST of two paths. @see CONTRACT.md 4.10.10 */
@ApiExcludeController()
@Controller('mcp')
@Public()
export class McpElsewhereController {
  @All(['', '*path'])
  refuse(@Req() { method, headers }: KitRequest): never {
    if (headers['x-api-key'] !== undefined) throw new ApiKeyNotAcceptedHere();
    if (method === 'POST') throw new NotFoundError();
    throw new MethodNotAllowedError(undefined, { headers: { Allow: 'POST' } });
  }
}
