import type { RpcCall } from '../json-rpc.mapper.js';
import { RpcMethodFailed } from '../mcp.errors.js';
import { checkStateless, generationOf } from './protocol-version.js';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const request = (params: Record<string, unknown> = {}, method = 'tools/list'): RpcCall => ({
  id: 1,
  method,
  params: { _meta: META, ...params },
});
const headersOf = (method: string, more: object = {}) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...more,
});

/** Returns code and status of a refusal, or null. */
function refusalOf(headers: object, call: RpcCall): [number, number] | null {
  try {
    checkStateless(headers as never, call);
    return null;
  } catch (error) {
    if (!(error instanceof RpcMethodFailed)) throw error;
    return [error.code, error.status];
  }
}

describe('generationOf', () => {
  it.each([
    ['handshake', {}, { id: 1, method: 'ping', params: {} }],
    ['handshake', { 'mcp-protocol-version': '2025-11-25' }, { id: 1, method: 'ping', params: {} }],
    ['handshake', {}, { id: 1, method: 'ping', params: { _meta: null } }],
    ['handshake', {}, { id: 1, method: 'ping', params: { _meta: { progressToken: 1 } } }],
    ['stateless', {}, request()],
    ['stateless', { 'mcp-protocol-version': '2026-07-28' }, { id: 1, method: 'ping', params: {} }],
    ['stateless', { 'mcp-protocol-version': '1900-01-01' }, { id: 1, method: 'ping', params: {} }],
  ])('is %s with %j and %j', (generation, headers, call) => {
    expect(generationOf(headers, call)).toBe(generation);
  });
});

describe('checkStateless', () => {
  it('accepts a request and a notification that state what they are', () => {
    expect(refusalOf(headersOf('tools/list'), request())).toBeNull();
    const call = request({ name: 'get_device' }, 'tools/call');
    expect(refusalOf(headersOf('tools/call', { 'mcp-name': 'get_device' }), call)).toBeNull();
    const notification: RpcCall = { id: null, method: 'notifications/cancelled', params: {} };
    expect(refusalOf(headersOf('notifications/cancelled'), notification)).toBeNull();
  });

  it('decodes a name in Base64', () => {
    const call = request({ name: 'Größe' }, 'prompts/get');
    const name = `=?base64?${Buffer.from('Größe').toString('base64')}?=`;
    expect(refusalOf(headersOf('prompts/get', { 'mcp-name': name }), call)).toBeNull();
  });

  it.each([
    ['no version header', { 'mcp-method': 'tools/list' }, request()],
    ['another version in the body', headersOf('tools/list', { 'mcp-protocol-version': '2025-11-25' }), request()],
    ['no method header', { 'mcp-protocol-version': '2026-07-28' }, request()],
    ['another method header', headersOf('prompts/list'), request()],
    ['no name header', headersOf('tools/call'), request({ name: 'get_device' }, 'tools/call')],
    [
      'another name header',
      headersOf('resources/read', { 'mcp-name': 'rmm://alerts' }),
      request({ uri: 'rmm://devices' }, 'resources/read'),
    ],
  ])('refuses %s with -32020', (_, headers, call) => {
    expect(refusalOf(headers, call)).toEqual([-32020, 400]);
  });

  it('refuses another version with -32022 and the supported ones', () => {
    const version = '1900-01-01';
    const call = request({ _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': version } });
    const headers = headersOf('tools/list', { 'mcp-protocol-version': version });
    expect(refusalOf(headers, call)).toEqual([-32022, 400]);
    expect(() => checkStateless(headers as never, call)).toThrow(
      expect.objectContaining({ data: { supported: ['2026-07-28', '2024-11-05'], requested: version } }),
    );
  });

  it.each([
    ['_meta', undefined],
    ['its version in _meta', { 'io.modelcontextprotocol/clientCapabilities': {} }],
    ['client capabilities', { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }],
  ])('refuses a request without %s with -32602', (_, meta) => {
    expect(refusalOf(headersOf('tools/list'), request({ _meta: meta }))).toEqual([-32602, 400]);
  });
});
