import { eventually } from '@rmm/testing-services';
import { GatewayTestApp } from '../../test/gateway-test-app.js';

const PING = { jsonrpc: '2.0', id: 7, method: 'ping' };

describe('McpRequestGuard', () => {
  let service: GatewayTestApp;

  const newKey = () => service.createApiKey({ scopes: ['ai:read'] });
  const ping = (
    headers: Record<string, string> = {},
    key = newKey(),
    path = '/mcp/message',
    body: object | string = PING,
  ) =>
    service
      .request('post', path, key)
      .set({ 'Content-Type': 'application/json', ...headers })
      .send(body);
  const refusalOf = ({
    status,
    body,
  }: {
    status: number;
    body: { error?: { code: number; data: { code: string } } };
  }) => [status, body.error?.code, body.error?.data.code];

  beforeAll(async () => {
    service = await GatewayTestApp.start({
      MCP_MESSAGES_PER_MINUTE: '4',
      MCP_STREAMS_PER_MINUTE: '2',
      CORS_ORIGINS: 'https://app.fleet.example',
    });
    await eventually(async () => expect((await ping()).status).toBe(200));
  });
  afterAll(() => service?.stop());

  it.each(['https://evil.example', 'https://api.fleet.example.evil.example', 'http://api.fleet.example', 'null', ''])(
    'refuses the origin "%s" with 403',
    async (origin) => {
      expect(refusalOf(await ping({ Origin: origin }))).toEqual([403, -32001, 'origin_not_allowed']);
    },
  );

  it('accepts listed origins, that of the API, and requests without an origin', async () => {
    for (const headers of [{ Origin: 'https://app.fleet.example' }, { Origin: 'https://api.fleet.example' }, {}]) {
      expect((await ping(headers as Record<string, string>)).status).toBe(200);
    }
  });

  it.each(['evil.example', 'evil.example:4003', 'localhost.evil.example', '127.0.0.1.evil.example'])(
    'refuses the host %s at a local address with 403',
    async (host) => {
      expect(refusalOf(await ping({ Host: host }))).toEqual([403, -32001, 'host_not_allowed']);
    },
  );

  it.each([
    'localhost',
    'localhost:8080',
    '127.0.0.1:1',
    '127.1.2.3',
    '[::1]:80',
    'api.fleet.example',
    'API.fleet.example',
  ])('accepts the host %s', async (host) => {
    expect((await ping({ Host: host })).status).toBe(200);
  });

  it('asks for the key first', async () => {
    expect(refusalOf(await ping({ Origin: 'https://evil.example' }, 'svc_bad'))).toEqual([
      401,
      -32001,
      'invalid_api_key',
    ]);
  });

  it('limits the messages of a key in a minute, malformed ones included, with the headers of its hour', async () => {
    const key = newKey();
    expect((await ping({}, key)).status).toBe(200);
    expect((await ping({}, key, '/mcp/message', '{')).status).toBe(400);
    expect((await ping({}, key, '/mcp/sse', { ...PING, method: 'initialize' })).status).toBe(200);
    expect((await ping({}, key)).status).toBe(200);
    const refused = await ping({}, key);
    expect(refusalOf(refused)).toEqual([429, -32000, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['x-ratelimit-remaining']).toBe('995');
    expect((await ping()).status).toBe(200);
  });

  it('limits the event streams of a key in a minute', async () => {
    const key = newKey();
    const open = (accept: string) =>
      ping({ Accept: accept }, key, '/mcp/sse', { jsonrpc: '2.0', id: 1, method: 'initialize' });
    for (let n = 0; n < 2; n += 1) expect((await open('text/event-stream')).status).toBe(200);
    expect(refusalOf(await open('text/event-stream'))).toEqual([429, -32000, 'rate_limited']);
    expect((await open('application/json')).status).toBe(200);
  });
});
