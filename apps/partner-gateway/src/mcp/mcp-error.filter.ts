import { Catch } from '@nestjs/common';
import { type DomainError, ErrorFilter } from '@rmm/service-kit';
import { toRpcErrorBody } from './rpc-error-body.js';

/** MCP clients read JSON-RPC errors; the status and the headers are those of every error. */
@Catch()
export class McpErrorFilter extends ErrorFilter {
  protected override toBody(error: DomainError, requestId: string): object {
    return toRpcErrorBody(error, requestId);
  }
}
