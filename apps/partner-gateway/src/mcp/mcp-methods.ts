import { RPC_CODES, RpcRefusal } from './json-rpc.js';

const PROTOCOL_VERSION = '2024-11-05';
const UNCHANGING = { listChanged: false };

const WELCOME = {
  protocolVersion: PROTOCOL_VERSION,
  capabilities: { tools: UNCHANGING, resources: UNCHANGING, prompts: UNCHANGING },
  serverInfo: { name: 'rmm', version: '1.0.0' },
  instructions:
    'Remote monitoring and management of the devices of one organization, the one the API key belongs to. ' +
    'Ask tools/list for what this key may do; it may be nothing.',
};

const refuse = (what: string) => (): never => {
  throw new RpcRefusal(RPC_CODES.badParameters, what);
};

/** What a key is offered: no tool, resource or prompt yet, so none can be named. */
const METHODS = new Map<string, () => object>([
  ['initialize', () => WELCOME],
  ['ping', () => ({})],
  ['tools/list', () => ({ tools: [] })],
  ['tools/call', refuse('Unknown tool')],
  ['resources/list', () => ({ resources: [] })],
  ['resources/read', refuse('Unknown resource')],
  ['prompts/list', () => ({ prompts: [] })],
  ['prompts/get', refuse('Unknown prompt')],
]);

/** @throws RpcRefusal  for an unknown method, tool, resource or prompt */
export function callMethod(name: string): object {
  const method = METHODS.get(name);
  if (method === undefined) throw new RpcRefusal(RPC_CODES.unknownMethod, 'Method not found');
  return method();
}
