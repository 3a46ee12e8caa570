import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AccessRequest } from './access-request.js';
import type { Caller } from './caller.js';

/** Injects the caller that the guard authenticated; undefined only on `@Public()` routes. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller | undefined => {
  return context.switchToHttp().getRequest<AccessRequest>().caller;
});
