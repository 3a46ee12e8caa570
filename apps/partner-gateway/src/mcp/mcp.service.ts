import { Injectable } from '@nestjs/common';
import type { ApiKeyCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { waitForAudit } from '../wait-for-audit.js';
import { toErrorResponse, toResultResponse, readCall, type RpcCall, type RpcResponse } from './json-rpc.js';
import { callMethod } from './mcp-methods.js';
import { RpcMethodFailed } from './mcp.errors.js';

const MAX_METHOD = 100;

@Injectable()
export class McpService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /**
   * Handles one JSON-RPC message.
   * @returns null for a notification
   * @throws InvalidRpcEnvelope 400
   */
  async exchange(caller: ApiKeyCaller, body: unknown): Promise<RpcResponse | null> {
    const call = readCall(body);
    const response = handle(call);
    await this.recordCall(caller, call, response);
    return response;
  }

  /** Records the method only: the rest of a call may contain anything. */
  private recordCall(caller: ApiKeyCaller, call: RpcCall, response: RpcResponse | null): Promise<void> {
    const method = call.method.slice(0, MAX_METHOD);
    const failure = response && 'error' in response ? response.error.message : undefined;
    const result = failure === undefined ? 'success' : 'failure';
    const resource = { type: 'mcp', name: method };
    const written = this.audit.recordDirect(caller, 'mcp.request', resource, { method }, result, failure);
    return waitForAudit(written, this.logger);
  }
}

function handle({ id, method }: RpcCall): RpcResponse | null {
  if (id === null) return null;
  try {
    return toResultResponse(id, callMethod(method));
  } catch (error) {
    if (error instanceof RpcMethodFailed) return toErrorResponse(id, { code: error.code, message: error.message });
    throw error;
  }
}
