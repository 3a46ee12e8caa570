import { Catch } from '@nestjs/common';
import { type DomainError, ErrorFilter } from '@rmm/service-kit';
import { toRpcErrorBody } from './rpc-error.mapper.js';

/** Writes errors as JSON-RPC objects, with the status and headers of every error. */
@Catch()
export class McpErrorFilter extends ErrorFilter {
  protected override toBody(error: DomainError, requestId: string): object {
    return toRpcErrorBody(error, requestId);
  }
}
