import { readCall } from './json-rpc.mapper.js';
import { InvalidRpcEnvelope } from './mcp.errors.js';

describe('readCall', () => {
  it('reads a request with an id, and a notification without', () => {
    const params = { name: 'x' };
    expect(readCall({ jsonrpc: '2.0', id: 0, method: 'ping' })).toEqual({ id: 0, method: 'ping', params: {} });
    expect(readCall({ jsonrpc: '2.0', id: '', method: 'a', params })).toEqual({ id: '', method: 'a', params });
    expect(readCall({ jsonrpc: '2.0', method: 'a' })).toEqual({ id: null, method: 'a', params: {} });
  });

  it.each([
    undefined,
    null,
    'ping',
    [],
    [{ jsonrpc: '2.0', id: 1, method: 'ping' }],
    {},
    { id: 1, method: 'ping' },
    { jsonrpc: '1.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 1 },
    { jsonrpc: '2.0', id: 1, method: 7 },
    { jsonrpc: '2.0', id: null, method: 'ping' },
    { jsonrpc: '2.0', id: {}, method: 'ping' },
    { jsonrpc: '2.0', id: true, method: 'ping' },
    { jsonrpc: '2.0', id: 1, method: 'ping', params: null },
    { jsonrpc: '2.0', id: 1, method: 'ping', params: ['a'] },
    { jsonrpc: '2.0', id: 1, result: {} },
  ])('is not %j', (body) => {
    expect(() => readCall(body)).toThrow(InvalidRpcEnvelope);
  });
});
