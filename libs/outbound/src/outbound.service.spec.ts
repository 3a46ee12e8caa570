import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from './outbound.errors.js';
import { Outbound, type OutboundOptions } from './outbound.service.js';

const LOOPBACK = { isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] };
const LIMITS = { timeoutMs: 2_000, maxResponseBytes: 1_000 };

describe('Outbound', () => {
  const servers: (Server | TcpServer)[] = [];
  const outbounds: Outbound[] = [];
  let reply: RequestListener = (_request, response) => response.end('ok');
  let connections = 0;
  let url = '';
  let port = 0;

  const outboundWith = (options: Partial<OutboundOptions> = {}) => {
    const outbound = new Outbound({ ...LOOPBACK, ...options });
    outbounds.push(outbound);
    return outbound;
  };

  const listen = (server: Server | TcpServer) =>
    new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => {
        servers.push(server);
        resolve((server.address() as AddressInfo).port);
      }),
    );

  beforeAll(async () => {
    const server = createServer((request, response) => reply(request, response));
    server.on('connection', () => (connections += 1));
    port = await listen(server);
    url = `http://127.0.0.1:${port}/hook?a=1`;
  });

  beforeEach(() => {
    connections = 0;
  });

  afterEach(async () => {
    await Promise.all(outbounds.splice(0).map((outbound) => outbound.close()));
  });

  afterAll(() => {
    for (const server of servers) {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    }
  });

  it('checks each of 10,000 URLs once and not at each request', async () => {
    const outbound = outboundWith();
    const checkUrl = jest.spyOn(outbound.rules, 'checkUrl');
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 10_000; i += 1) await outbound.assertAllowed(`http://127.0.0.1:9/hook-${i}`);
    }
    expect(checkUrl).toHaveBeenCalledTimes(10_000);
  });

  it('sends the request and returns the response', async () => {
    const seen: { request?: IncomingMessage; body?: string } = {};
    reply = (request, response) => {
      seen.request = request;
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.body = body;
        response.writeHead(201, { 'X-Reply': 'yes' }).end('thanks');
      });
    };
    const response = await outboundWith().post({
      url,
      headers: { 'X-Test': '1', host: 'evil.example' },
      body: '{"a":1}',
      ...LIMITS,
    });
    expect(response).toMatchObject({ status: 201, truncated: false });
    expect(response.headers['x-reply']).toBe('yes');
    expect(response.body.toString()).toBe('thanks');
    expect(seen.request?.method).toBe('POST');
    expect(seen.request?.url).toBe('/hook?a=1');
    expect(seen.request?.headers).toMatchObject({ host: `127.0.0.1:${port}`, 'x-test': '1', 'content-length': '7' });
    expect(seen.request?.headers).not.toHaveProperty('accept-encoding');
    expect(seen.body).toBe('{"a":1}');
  });

  it('sends the user info of the URL as Basic credentials', async () => {
    let authorization: string | undefined;
    reply = (request, response) => {
      authorization = request.headers.authorization;
      response.end();
    };
    await outboundWith().post({ url: `http://us%20er:p%40ss@127.0.0.1:${port}/`, ...LIMITS });
    expect(authorization).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`);
  });

  it('does not follow a redirect', async () => {
    let requests = 0;
    reply = (_request, response) => {
      requests += 1;
      response.writeHead(302, { location: `http://127.0.0.1:${port}/elsewhere` }).end();
    };
    expect((await outboundWith().post({ url, ...LIMITS })).status).toBe(302);
    expect(requests).toBe(1);
  });

  it('stops reading at maxResponseBytes and closes the connection', async () => {
    let closed: Promise<void> = Promise.resolve();
    reply = (_request, response) => {
      closed = new Promise((resolve) => response.once('close', () => resolve()));
      response.on('error', () => undefined);
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    };
    const response = await outboundWith().post({ url, ...LIMITS });
    expect(response.truncated).toBe(true);
    expect(response.body).toHaveLength(1_000);
    await closed;
  });

  it.each([
    ['never answers', () => undefined],
    [
      'drips its body',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write('x'), 20);
        response.once('close', () => clearInterval(timer));
      },
    ],
    [
      'sends early hints for ever',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 20);
        response.once('close', () => clearInterval(timer));
      },
    ],
  ])('keeps its time limit when the other side %s', async (_, behave) => {
    reply = (_request, response) => void behave(response);
    await expect(outboundWith().post({ url, ...LIMITS, timeoutMs: 200 })).rejects.toThrow(
      new OutboundTimeout(200).message,
    );
  });

  it('includes the wait for a free connection in the time limit', async () => {
    reply = () => undefined;
    const outbound = outboundWith({ pools: { connectionsPerOrigin: 1 } });
    const both = [0, 1].map(() => outbound.post({ url, ...LIMITS, timeoutMs: 150 }));
    for (const outcome of await Promise.allSettled(both)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'OutboundTimeout' } });
    }
  });

  describe('a connection that fails before the response', () => {
    /** Keeps connections, and closes each when its second request comes, as one whose idle time is over. */
    const forgetful = async () => {
      const seen: string[] = [];
      const served = new WeakSet<Socket>();
      const server = createServer((request, response) => {
        seen.push(String(request.headers['x-id']));
        if (served.has(request.socket)) request.socket.destroy();
        else response.end('ok');
        served.add(request.socket);
      });
      return { seen, url: `http://127.0.0.1:${await listen(server)}/` };
    };

    it('is retried once on another one within the same request', async () => {
      const { seen, url: forgetfulUrl } = await forgetful();
      const outbound = outboundWith();
      const post = (id: string) => outbound.post({ url: forgetfulUrl, headers: { 'x-id': id }, body: '{}', ...LIMITS });
      expect(await post('first')).toMatchObject({ status: 200 });
      // The pool takes a connection back a moment after its reply.
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await post('second')).toMatchObject({ status: 200 });
      expect(seen).toEqual(['first', 'second', 'second']);
    });

    it.each<[string, RequestListener]>([
      [
        'after a part of the reply',
        (_, response) => {
          response.writeHead(200, { 'content-length': '100' }).write('half');
          setTimeout(() => response.destroy(), 50);
        },
      ],
      ['after a while', (request) => void setTimeout(() => request.socket.destroy(), 1_200)],
    ])('is not retried when it fails %s', async (_, listener) => {
      let requests = 0;
      reply = (request, response) => {
        requests += 1;
        listener(request, response);
      };
      await expect(outboundWith().post({ url, ...LIMITS })).rejects.toThrow(OutboundFailed);
      expect(requests).toBe(1);
    });

    it('keeps one time limit for both attempts', async () => {
      let requests = 0;
      reply = (request, response) => {
        requests += 1;
        if (requests === 1) response.end('ok');
        if (requests === 2) setTimeout(() => request.socket.destroy(), 300);
      };
      const outbound = outboundWith();
      await outbound.post({ url, ...LIMITS });
      await new Promise((resolve) => setTimeout(resolve, 50));
      await expect(outbound.post({ url, ...LIMITS, timeoutMs: 2_000 })).rejects.toThrow('Timeout after 2000 ms');
      expect(requests).toBe(3);
    });
  });

  it('reports a network failure without an address', async () => {
    const closed = createTcpServer((socket) => socket.destroy());
    const closedPort = await listen(closed);
    await expect(outboundWith().post({ url: `http://127.0.0.1:${closedPort}/`, ...LIMITS })).rejects.toThrow(
      /^Connection (reset|closed by the other side)$/,
    );
    await new Promise((resolve) => closed.close(resolve));
    const refused = outboundWith().post({ url: `http://127.0.0.1:${closedPort}/`, ...LIMITS });
    await expect(refused).rejects.toThrow(OutboundFailed);
    await expect(refused).rejects.toThrow(/^Connection refused$/);
  });

  it('fails when the response is not HTTP', async () => {
    const odd = createTcpServer((socket) => socket.on('error', () => undefined).end('hello\r\n\r\n'));
    const oddPort = await listen(odd);
    await expect(outboundWith().post({ url: `http://127.0.0.1:${oddPort}/`, ...LIMITS })).rejects.toThrow(
      'Malformed HTTP response',
    );
  });

  it('reuses connections of the same origin', async () => {
    reply = (_request, response) => response.end('ok');
    const outbound = outboundWith();
    for (let i = 0; i < 20; i += 1) await outbound.post({ url, ...LIMITS });
    // Two, since undici frees a connection a tick after its reply was handed out.
    expect(connections).toBeLessThanOrEqual(2);
  });

  it('replaces connections after their lifetime', async () => {
    reply = (_request, response) => response.end('ok');
    let nowMs = 0;
    const outbound = outboundWith({ nowMs: () => nowMs, pools: { maxLifetimeMs: 1_000 } });
    await outbound.post({ url, ...LIMITS });
    nowMs = 1_000;
    await outbound.post({ url, ...LIMITS });
    expect(connections).toBe(2);
  });

  it('ignores proxy variables of the environment', async () => {
    reply = (_request, response) => response.end('direct');
    process.env['HTTP_PROXY'] = process.env['http_proxy'] = 'http://127.0.0.1:1';
    try {
      expect((await outboundWith().post({ url, ...LIMITS })).body.toString()).toBe('direct');
    } finally {
      delete process.env['HTTP_PROXY'];
      delete process.env['http_proxy'];
    }
  });

  describe('with names', () => {
    const named = (path = '/') => `http://hooks.example.com:${port}${path}`;

    it('connects to the checked address, resolves again each time and sends the name in Host', async () => {
      let host: string | undefined;
      reply = (request, response) => {
        host = request.headers.host;
        response.end();
      };
      let questions = 0;
      const resolver = { resolve: async () => (questions++, ['127.0.0.1']) };
      const outbound = outboundWith({ resolver });
      await outbound.post({ url: named(), ...LIMITS });
      await outbound.post({ url: named(), ...LIMITS });
      expect(host).toBe(`hooks.example.com:${port}`);
      expect(questions).toBe(2);
      expect(connections).toBeGreaterThan(0);
    });

    it('refuses a rebound name although a connection is still open', async () => {
      let requests = 0;
      reply = (_request, response) => {
        requests += 1;
        response.end();
      };
      const responses = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1', '10.0.0.1', '192.0.2.7']];
      const outbound = outboundWith({ resolver: { resolve: async () => responses.shift() ?? [] } });
      await outbound.post({ url: named(), ...LIMITS });
      await expect(outbound.post({ url: named(), ...LIMITS })).rejects.toThrow(UnsafeAddress);
      await expect(outbound.post({ url: named(), ...LIMITS })).rejects.toThrow(UnsafeAddress);
      await expect(outbound.post({ url: named(), ...LIMITS })).rejects.toThrow('the host has no address');
      expect(requests).toBe(1);
    });

    it('checks cached addresses once, and others that the cache returns later again', async () => {
      let cached = ['127.0.0.1'];
      const resolve = jest.fn(async () => cached);
      const outbound = outboundWith({ resolver: { resolve, findCached: () => cached } });
      const send = () => outbound.request({ ...LIMITS, url: `http://receiver.test:${port}/`, method: 'GET' });
      for (let n = 0; n < 3; n += 1) expect((await send()).status).toBe(200);
      expect(resolve).toHaveBeenCalledTimes(1);
      cached = ['169.254.169.254'];
      for (let n = 0; n < 2; n += 1) await expect(send()).rejects.toThrow(UnsafeAddress);
    });

    it('refuses the URL when the resolver fails or does not respond', async () => {
      const failing = outboundWith({ resolver: { resolve: () => Promise.reject(new Error('SERVFAIL')) } });
      await expect(failing.post({ url: named(), ...LIMITS })).rejects.toThrow('the host could not be resolved');
      const hanging = outboundWith({ resolver: { resolve: () => new Promise(() => undefined) } });
      await expect(hanging.post({ url: named(), ...LIMITS, timeoutMs: 100 })).rejects.toThrow(UnsafeAddress);
    });

    it('resolves a name once for concurrent requests', async () => {
      let questions = 0;
      const outbound = outboundWith({ resolver: { resolve: async () => (questions++, ['127.0.0.1']) } });
      await Promise.all([1, 2, 3].map(() => outbound.assertAllowed(named())));
      expect(questions).toBe(1);
    });
  });

  it('refuses loopback unless it is allowed, and sends nothing', async () => {
    let requests = 0;
    reply = (_request, response) => {
      requests += 1;
      response.end();
    };
    const strict = outboundWith({ extraAllowedCidrs: [] });
    await expect(strict.post({ url, ...LIMITS })).rejects.toThrow(UnsafeAddress);
    await expect(strict.assertAllowed(url)).rejects.toThrow('the host is in a blocked address range');
    expect(requests).toBe(0);
  });
});
