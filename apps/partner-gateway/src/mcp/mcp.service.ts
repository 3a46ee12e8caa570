import { Injectable } from '@nestjs/common';
import type { ApiKeyCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { waitForAudit } from '../wait-for-audit.js';
import {
  readCall,
  RPC_CODES,
  toErrorResponse,
  toResultResponse,
  type RpcCall,
  type RpcResponse,
} from './json-rpc.mapper.js';
import { RpcMethodFailed } from './mcp.errors.js';

const MAX_METHOD = 100;
const PROTOCOL_VERSION = '2024-11-05';
const STATIC_LIST = { listChanged: false };

const INITIALIZE_RESULT = {
  protocolVersion: PROTOCOL_VERSION,
  capabilities: { tools: STATIC_LIST, resources: STATIC_LIST, prompts: STATIC_LIST },
  serverInfo: { name: 'rmm', version: '1.0.0' },
  instructions:
    'Remote monitoring and management of the devices of one organization, the one the API key belongs to. ' +
    'Ask tools/list for what this key may do; it may be nothing.',
};

const fail = (message: string) => (): never => {
  throw new RpcMethodFailed(RPC_CODES.invalidParameters, message);
};

/** The methods of MCP; there are no tools, resources or prompts yet. */
const METHODS = new Map<string, () => object>([
  ['initialize', () => INITIALIZE_RESULT],
  ['ping', () => ({})],
  ['tools/list', () => ({ tools: [] })],
  ['tools/call', fail('Unknown tool')],
  ['resources/list', () => ({ resources: [] })],
  ['resources/read', fail('Unknown resource')],
  ['prompts/list', () => ({ prompts: [] })],
  ['prompts/get', fail('Unknown prompt')],
]);

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

/** Calls a method. @throws RpcMethodFailed for an unknown method, tool, resource or prompt */
function callMethod(name: string): object {
  const method = METHODS.get(name);
  if (method === undefined) throw new RpcMethodFailed(RPC_CODES.unknownMethod, 'Method not found');
  return method();
}
