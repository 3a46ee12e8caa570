import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Outbound, OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { OidcTransport } from './oidc-transport.service.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const PLAIN = { method: 'GET', headers: { accept: 'application/json' }, body: undefined, redirect: 'manual' } as const;

describe('OidcTransport', () => {
  let server: Server;
  let base: string;
  let handle: Handler;
  let received: { path: string; method: string; body: string }[];
  let transport: OidcTransport;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        received.push({ path: request.url ?? '', method: request.method ?? '', body });
        handle(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    transport = new OidcTransport(new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] }));
  });
  beforeEach(() => {
    received = [];
    handle = (_, response) => response.end('{}');
  });
  afterAll(async () => {
    await transport.onApplicationShutdown();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const redirectTo = (location: string, status = 302): Handler => {
    return ({ url }, response) =>
      url === '/start' ? response.writeHead(status, { location }).end() : response.end('{"at":"end"}');
  };

  it('returns status, headers and body of a response', async () => {
    handle = (_, response) => response.writeHead(201, { 'x-a': ['1', '2'] }).end('{"a":1}');
    const response = await transport.openFetch()(`${base}/start`, PLAIN);
    expect([response.status, response.headers.get('x-a'), await response.json()]).toEqual([201, '1, 2', { a: 1 }]);
  });

  it('sends text and form bodies, and no others', async () => {
    const fetch = transport.openFetch();
    const post = { ...PLAIN, method: 'POST' };
    await fetch(`${base}/a`, { ...post, body: 'text' });
    await fetch(`${base}/b`, { ...post, body: new URLSearchParams({ code: 'a b' }) });
    expect(received.map(({ body }) => body)).toEqual(['text', 'code=a+b']);
    await expect(fetch(`${base}/c`, { ...post, body: new Uint8Array(1) as never })).rejects.toThrow(TypeError);
  });

  it.each([301, 302, 303, 307, 308])('follows the redirect %i of a request without credentials', async (status) => {
    handle = redirectTo('/end', status);
    const response = await transport.openFetch()(`${base}/start`, PLAIN);
    expect([await response.json(), received.map(({ path }) => path)]).toEqual([{ at: 'end' }, ['/start', '/end']]);
  });

  it.each([
    ['a POST', { ...PLAIN, method: 'POST', body: 'secret' }],
    ['a request with a token', { ...PLAIN, headers: { Authorization: 'Bearer x' } }],
    ['a request with a cookie', { ...PLAIN, headers: { cookie: 'a=b' } }],
  ])('returns the redirect of %s', async (_title, request) => {
    handle = redirectTo('/end', 307);
    expect((await transport.openFetch()(`${base}/start`, request)).status).toBe(307);
    expect(received).toHaveLength(1);
  });

  it('ends after three redirects', async () => {
    let hops = 0;
    handle = (_, response) => response.writeHead(302, { location: `/${(hops += 1)}` }).end();
    await expect(transport.openFetch()(`${base}/start`, PLAIN)).rejects.toThrow('Too many redirects');
    expect(received).toHaveLength(4);
  });

  it('checks the address of each redirect', async () => {
    handle = redirectTo('http://169.254.169.254/latest');
    await expect(transport.openFetch()(`${base}/start`, PLAIN)).rejects.toThrow(UnsafeAddress);
    await expect(transport.assertAllowed('http://169.254.169.254/')).rejects.toThrow(UnsafeAddress);
    await transport.assertAllowed(base);
  });

  it('refuses a body of more than 1 MB', async () => {
    handle = (_, response) => response.end('x'.repeat(1024 * 1024 + 1));
    await expect(transport.openFetch()(`${base}/start`, PLAIN)).rejects.toThrow(OutboundFailed);
  });

  it('gives all calls of a login one budget of time', async () => {
    const fetch = transport.openFetch();
    await fetch(`${base}/first`, PLAIN);
    const laterMs = performance.now() + 8_001;
    const clock = jest.spyOn(performance, 'now').mockReturnValue(laterMs);
    try {
      await expect(fetch(`${base}/second`, PLAIN)).rejects.toThrow(OutboundTimeout);
    } finally {
      clock.mockRestore();
    }
    expect(received.map(({ path }) => path)).toEqual(['/first']);
  });
});
