import { RPC_CODES } from './json-rpc.js';
import { RpcMethodFailed } from './mcp.errors.js';

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

/** Calls a method. @throws RpcMethodFailed for an unknown method, tool, resource or prompt */
export function callMethod(name: string): object {
  const method = METHODS.get(name);
  if (method === undefined) throw new RpcMethodFailed(RPC_CODES.unknownMethod, 'Method not found');
  return method();
}
