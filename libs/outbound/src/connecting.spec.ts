import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { redirectConnections, recordDials } from '../test/dials.js';
import { Receivers } from '../test/receivers.js';
import { ConnectionPools, DEFAULT_POOL_LIMITS } from './connection-pools.js';
import { exchange } from './exchange.js';
import { OutboundFailed, UnsafeAddress } from './outbound.errors.js';
import { Outbound, type OutboundOptions } from './outbound.service.js';

const LOOPBACK = { isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] };
const LIMITS = { timeoutMs: 5_000, maxResponseBytes: 1_000 };
const LOCATIONS = ['http://169.254.169.254/latest/meta-data/', 'http://localhost/', '//127.0.0.1/', '/elsewhere'];

describe('connecting', () => {
  const receivers = new Receivers();
  const outbounds: Outbound[] = [];

  afterEach(async () => {
    await Promise.all(outbounds.splice(0).map((outbound) => outbound.close()));
    receivers.stop();
  });

  const outboundWith = (options: Partial<OutboundOptions> = {}) => {
    const outbound = new Outbound({ ...LOOPBACK, ...options });
    outbounds.push(outbound);
    return outbound;
  };
  /** A resolver that gives these responses in turn, and none once they are used up. */
  const resolverOf = (...responses: string[][]) => ({ resolve: () => Promise.resolve(responses.shift() ?? []) });

  describe('redirects', () => {
    it.each([300, 301, 302, 303, 305, 307, 308].flatMap((status) => LOCATIONS.map((to) => [status, to] as const)))(
      '%i to %s is an reply',
      async (status, location) => {
        let requests = 0;
        const port = await receivers.http((_request, response) => {
          requests += 1;
          response.writeHead(status, { location }).end();
        });
        const response = await outboundWith().post({ url: `http://127.0.0.1:${port}/`, body: '{}', ...LIMITS });
        expect([response.status, response.headers.location, requests]).toEqual([status, location, 1]);
      },
    );

    it.each(['refresh', 'content-location', 'link', 'alt-svc'])('ignores the response header %s', async (name) => {
      const port = await receivers.http((_request, response) => {
        response.writeHead(200, { [name]: 'h2="10.0.0.1:443"; <http://10.0.0.1/>; url=http://10.0.0.1/' }).end('ok');
      });
      const outbound = outboundWith();
      const url = `http://127.0.0.1:${port}/`;
      await outbound.post({ url, ...LIMITS });
      expect((await outbound.post({ url, ...LIMITS })).body.toString()).toBe('ok');
    });
  });

  describe('proxies and headers', () => {
    const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];

    it.each(['http', 'https'])('ignores proxy variables for %s', async (scheme) => {
      const kept = PROXY_VARIABLES.map((name) => [name, process.env[name]] as const);
      for (const name of PROXY_VARIABLES) process.env[name] = 'http://127.0.0.1:1';
      const dials = recordDials();
      try {
        const outbound = outboundWith({ resolver: resolverOf(['10.0.0.1']) });
        await expect(outbound.post({ url: `${scheme}://hooks.example.com/`, ...LIMITS })).rejects.toThrow('refused');
        expect(dials.dialled).toEqual(['10.0.0.1']);
      } finally {
        dials.stop();
        for (const [name, value] of kept) {
          if (value === undefined) delete process.env[name];
          else process.env[name] = value;
        }
      }
    });

    it('offers HTTP/1.1 only and sends the host name in TLS', async () => {
      let hello: Buffer = Buffer.alloc(0);
      const port = await receivers.tcp((socket) => {
        socket.once('data', (chunk: Buffer) => {
          hello = chunk;
          socket.destroy();
        });
      });
      const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1']) });
      await expect(outbound.post({ url: `https://hooks.example.com.:${port}/`, ...LIMITS })).rejects.toThrow(
        OutboundFailed,
      );
      expect(hello[0]).toBe(22);
      expect(hello.includes('\x08http/1.1')).toBe(true);
      expect(hello.includes('\x02h2')).toBe(false);
      expect(hello.includes('\x00\x11hooks.example.com')).toBe(true);
    });

    it.each(['Host', 'host', 'HOST', 'hOsT'])('sends Host from the URL instead of %s', async (name) => {
      let seen: IncomingMessage | undefined;
      const port = await receivers.http((request, response) => {
        seen = request;
        response.end();
      });
      const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1']) });
      const url = `http://user:pass@Hooks.Example.com.:${port}/`;
      await outbound.post({ url, headers: { [name]: 'metadata.google.internal' }, ...LIMITS });
      expect(seen?.rawHeaders.filter((_, i, all) => all[i - 1]?.toLowerCase() === 'host')).toEqual([
        `hooks.example.com:${port}`,
      ]);
    });

    it.each([
      ['a line break in a value', { 'x-a': 'a\r\nhost: evil.example' }],
      ['a line break in a name', { 'x-a\r\nhost': 'evil.example' }],
      ['a NUL', { 'x-a': 'a\0b' }],
    ])('sends nothing for %s', async (_what, headers) => {
      let requests = 0;
      const port = await receivers.http((_request, response) => {
        requests += 1;
        response.end();
      });
      const attempt = outboundWith().post({ url: `http://127.0.0.1:${port}/`, headers, ...LIMITS });
      await expect(attempt).rejects.toThrow(OutboundFailed);
      expect(requests).toBe(0);
    });
  });

  describe('responses', () => {
    it.each([999, 1_000])('returns %i bytes completely', async (length) => {
      const port = await receivers.http((_request, response) => response.end('x'.repeat(length)));
      const response = await outboundWith().post({ url: `http://127.0.0.1:${port}/`, ...LIMITS });
      expect([response.body.length, response.truncated]).toEqual([length, false]);
    });

    it('truncates one byte more', async () => {
      const port = await receivers.http((_request, response) => response.end('x'.repeat(1_001)));
      const response = await outboundWith().post({ url: `http://127.0.0.1:${port}/`, ...LIMITS });
      expect([response.body.length, response.truncated]).toEqual([1_000, true]);
    });

    it('does not decompress', async () => {
      const packed = Buffer.from('1f8b080000000000000003', 'hex');
      const port = await receivers.http((_request, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
      );
      const response = await outboundWith().post({ url: `http://127.0.0.1:${port}/`, ...LIMITS });
      expect(response.body).toEqual(packed);
    });

    it.each([
      ['headers without end', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}`, 'Response headers too large'],
      ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n', ''],
      ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', ''],
      ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', ''],
      ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', ''],
      ['less than it promised', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab', ''],
    ])('fails on %s', async (_what, reply, text) => {
      const port = await receivers.tcp((socket) => socket.once('data', () => socket.end(reply)));
      const attempt = outboundWith().post({ url: `http://127.0.0.1:${port}/`, ...LIMITS });
      await expect(attempt).rejects.toThrow(OutboundFailed);
      await expect(attempt).rejects.toThrow(text);
    });
  });

  describe('kept-alive connections', () => {
    /** Responds with the address of the connection, so that a spec sees which connection was used. */
    const startAddressServer = () =>
      receivers.http((request, response) => response.end(request.socket.localAddress), '0.0.0.0');

    it('are reused when the name resolves to other allowed addresses', async () => {
      const port = await startAddressServer();
      const resolver = resolverOf(['127.0.0.1', '127.0.0.9'], ['127.0.0.2'], ['127.0.0.3'], ['127.0.0.1']);
      const outbound = outboundWith({ resolver });
      const post = async () => {
        const response = await outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS });
        await sleep(30);
        return response.body.toString();
      };
      expect([await post(), await post(), await post(), await post()]).toEqual(Array(4).fill('127.0.0.1'));
    });

    it('are replaced at the newest address after their lifetime', async () => {
      let nowMs = 0;
      const port = await startAddressServer();
      const resolver = resolverOf(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']);
      const outbound = outboundWith({ resolver, nowMs: () => nowMs, pools: { maxLifetimeMs: 1_000 } });
      const post = async () => {
        const response = await outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS });
        await sleep(30);
        return response.body.toString();
      };
      expect([await post(), await post()]).toEqual(['127.0.0.1', '127.0.0.1']);
      nowMs = 1_000;
      expect(await post()).toBe('127.0.0.2');
    });

    it('are opened to the newest addresses only', async () => {
      const waiting: (() => void)[] = [];
      const port = await receivers.http((request, response) => {
        const respond = () => response.end(request.socket.localAddress);
        if (request.url === '/slow') waiting.push(respond);
        else respond();
      }, '0.0.0.0');
      const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1'], ['127.0.0.2']) });
      const post = (path: string) => outbound.post({ url: `http://hooks.example.com:${port}${path}`, ...LIMITS });
      const slow = post('/slow');
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect((await post('/')).body.toString()).toBe('127.0.0.2');
      waiting[0]();
      expect((await slow).body.toString()).toBe('127.0.0.1');
    });

    it.each([[['169.254.169.254']], [['127.0.0.1', '169.254.169.254']], [['8.8.8.8']], [[]]])(
      'carry nothing when the name now resolves to %j',
      async (responses) => {
        let requests = 0;
        const port = await receivers.http((_request, response) => {
          requests += 1;
          response.end();
        });
        const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1'], responses, ['127.0.0.1']) });
        const post = () => outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS });
        await post();
        await expect(post()).rejects.toThrow(UnsafeAddress);
        expect(requests).toBe(1);
        expect((await post()).status).toBe(200);
      },
    );

    it('complete their running request, and are closed, when the name resolves to a refused address', async () => {
      const waiting: (() => void)[] = [];
      const closed: Promise<unknown>[] = [];
      const port = await receivers.http((request, response) => {
        closed.push(new Promise((resolve) => request.socket.once('close', resolve)));
        waiting.push(() => response.end('late'));
      });
      const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1'], ['169.254.169.254']) });
      const post = () => outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS });
      const slow = post();
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await expect(post()).rejects.toThrow(UnsafeAddress);
      waiting[0]();
      expect((await slow).body.toString()).toBe('late');
      await Promise.all(closed);
    });

    it('stay open while the name cannot be resolved', async () => {
      const port = await startAddressServer();
      const responses = [['127.0.0.1'], null, ['127.0.0.2']];
      const resolve = () => {
        const addresses = responses.shift();
        return addresses ? Promise.resolve(addresses) : Promise.reject(new Error('SERVFAIL'));
      };
      const outbound = outboundWith({ resolver: { resolve } });
      const post = () => outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS });
      await post();
      await sleep(30);
      await expect(post()).rejects.toThrow('the host could not be resolved');
      expect((await post()).body.toString()).toBe('127.0.0.1');
    });

    it('are not shared by origins with the same address', async () => {
      const hostsBySocket = new Map<Socket, Set<string | undefined>>();
      const port = await receivers.http((request, response) => {
        const hosts = hostsBySocket.get(request.socket) ?? new Set();
        hostsBySocket.set(request.socket, hosts.add(request.headers.host));
        response.end();
      });
      const outbound = outboundWith({ resolver: { resolve: () => Promise.resolve(['127.0.0.1']) } });
      for (const host of ['a.example.com', 'b.example.com', '127.0.0.1', 'A.example.com.']) {
        await outbound.post({ url: `http://${host}:${port}/`, ...LIMITS });
      }
      expect([...hostsBySocket.values()].map((hosts) => hosts.size)).toEqual([...hostsBySocket.keys()].map(() => 1));
      expect(new Set([...hostsBySocket.values()].flatMap((hosts) => [...hosts]))).toEqual(
        new Set(['a.example.com', 'b.example.com', '127.0.0.1'].map((host) => `${host}:${port}`)),
      );
    });
  });

  describe('an unchecked address', () => {
    it('is disconnected at once when a connection leads to it', async () => {
      let bytes = 0;
      const port = await receivers.tcp((socket) => socket.on('data', (chunk) => (bytes += chunk.length)), '0.0.0.0');
      const astray = redirectConnections('127.0.0.2');
      try {
        const outbound = outboundWith({ resolver: resolverOf(['127.0.0.1']) });
        await expect(outbound.post({ url: `http://hooks.example.com:${port}/`, ...LIMITS })).rejects.toThrow(
          new UnsafeAddress(['the connection would use an address that was not checked']).message,
        );
        await expect(outbound.post({ url: `http://127.0.0.1:${port}/`, ...LIMITS })).rejects.toThrow(UnsafeAddress);
      } finally {
        astray.stop();
      }
      expect(bytes).toBe(0);
    });

    it('is not dialled when the origin is that address', async () => {
      const dials = recordDials();
      const pools = new ConnectionPools(DEFAULT_POOL_LIMITS, () => 0);
      const send = (origin: string) =>
        exchange(pools.acquire(origin, ['8.8.8.8']), { path: '/', method: 'GET' }, { ...LIMITS, remainingMs: 2_000 });
      await expect(send('http://127.0.0.1')).rejects.toThrow(UnsafeAddress);
      await expect(send('https://[::1]')).rejects.toThrow(UnsafeAddress);
      await expect(send('http://8.8.8.8')).rejects.toThrow(OutboundFailed);
      await expect(send('http://hooks.example.com')).rejects.toThrow(OutboundFailed);
      expect(dials.dialled).toEqual(['8.8.8.8', '8.8.8.8']);
      dials.stop();
      await pools.close();
    });
  });
});
