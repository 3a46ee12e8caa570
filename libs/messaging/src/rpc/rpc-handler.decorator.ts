import { applyDecorators, UseFilters } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import type { RpcContract } from '@rmm/contracts';
import { RethrowFilter } from './rethrow.filter.js';
import type { RpcContext } from './rpc-server.js';

type RpcHandlerDecorator<Request, Reply> = <
  Handler extends (request: Request, context: RpcContext) => Promise<Reply> | Reply,
>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Serves a contract with a controller method: `@RpcHandler(PROVISIONING_SITES_GET) get(request: RpcRequest<...>)`.
 * Types of request and reply are checked at compile time. A malformed request is refused with 400 `validation_failed`
 * before the method runs; errors that the method throws reach the caller by kind, code, status and extras.
 */
export function RpcHandler<Request, Reply>(contract: RpcContract<Request, Reply>): RpcHandlerDecorator<Request, Reply> {
  return applyDecorators(MessagePattern(contract.subject, { request: contract.request }), UseFilters(RethrowFilter));
}
