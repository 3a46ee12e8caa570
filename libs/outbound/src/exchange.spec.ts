import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Receivers } from '../test/receivers.js';
import { OutboundFailed } from './outbound.errors.js';
import { Outbound } from './outbound.service.js';

const LIMITS = { timeoutMs: 5_000, maxResponseBytes: 1_000 };
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('exchange', () => {
  const receivers = new Receivers();
  let outbound: Outbound;
  let connections = 0;
  let requests = 0;

  beforeEach(() => {
    outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
    connections = requests = 0;
  });

  afterEach(async () => {
    await outbound.close();
    receivers.stop();
  });

  /** Starts a receiver that passes each complete request to the handler. @returns its URL */
  const listen = async (respond: (socket: Socket, request: number) => unknown) => {
    const port = await receivers.tcp((socket) => {
      connections += 1;
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (!text.endsWith('{"a":1}')) return;
        text = '';
        requests += 1;
        void respond(socket, requests);
      });
    });
    return `http://127.0.0.1:${port}/`;
  };
  const post = (url: string) => outbound.post({ url, body: '{"a":1}', ...LIMITS });
  /** Writes each part as a TCP segment of its own. */
  const writeParts = async (socket: Socket, parts: readonly string[]) => {
    for (const part of parts) {
      socket.write(part);
      await sleep(20);
    }
  };

  describe('an unsolicited 100 Continue', () => {
    it.each<[string, string[]]>([
      ['in one segment with the response', [CONTINUE + OK]],
      ['before the response', [CONTINUE, OK]],
      ['in pieces', ['HTT', 'P/1.1 100 Con', 'tinue\r\nx-a: b\r', '\n\r', `\n${OK.slice(0, 7)}`, OK.slice(7)]],
      ['twice', [CONTINUE + CONTINUE, OK]],
      ['with early hints', [`${CONTINUE}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`, CONTINUE + OK]],
      ['without a reason phrase', ['HTTP/1.1 100\r\n\r\n', OK]],
    ])('%s is skipped, and the connection is reused', async (_, parts) => {
      const url = await listen((socket) => writeParts(socket, parts));
      for (let i = 0; i < 3; i += 1) {
        const response = await post(url);
        expect([response.status, response.body.toString()]).toEqual([200, 'ok']);
        await sleep(30);
      }
      expect([connections, requests]).toEqual([1, 3]);
    });

    it('is kept where it is part of a body', async () => {
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${2 * CONTINUE.length}\r\n\r\n`;
      const url = await listen((socket) => writeParts(socket, [head, CONTINUE, CONTINUE]));
      expect((await post(url)).body.toString()).toBe(CONTINUE + CONTINUE);
    });

    it('alone is no response', async () => {
      const url = await listen((socket) => socket.end(CONTINUE));
      await expect(post(url)).rejects.toThrow(OutboundFailed);
      expect(requests).toBe(1);
    });

    it('without end fails', async () => {
      const url = await listen((socket) => socket.write(`HTTP/1.1 100 Continue\r\nx-a: ${'a'.repeat(100_000)}`));
      await expect(post(url)).rejects.toThrow(OutboundFailed);
    });
  });

  it.each([
    [204, ''],
    [204, 'hello'],
    [304, ''],
  ])('returns %i with Content-Length: 5 and the body %j as that status', async (status, body) => {
    const url = await listen((socket) => socket.write(`HTTP/1.1 ${status} X\r\ncontent-length: 5\r\n\r\n${body}`));
    for (let i = 0; i < 3; i += 1) {
      const response = await post(url);
      expect([response.status, response.headers['content-length'], response.body.length]).toEqual([status, '5', 0]);
    }
    expect(requests).toBe(3);
  });

  it('fails when a 200 has less than its Content-Length', async () => {
    const url = await listen((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab'));
    await expect(post(url)).rejects.toThrow(OutboundFailed);
  });

  describe('a connection that is lost before the response', () => {
    it.each<[string, (socket: Socket) => unknown]>([
      ['closes', (socket) => socket.end()],
      ['resets', (socket) => socket.resetAndDestroy()],
    ])('is not retried when it is new and the receiver %s it', async (_, lose) => {
      const url = await listen(lose);
      await expect(post(url)).rejects.toThrow(OutboundFailed);
      expect(requests).toBe(1);
    });

    it.each<[string, (socket: Socket) => unknown]>([
      ['closes', (socket) => socket.end()],
      ['resets', (socket) => socket.resetAndDestroy()],
    ])('is retried once on a new one when it was reused and the receiver %s it', async (_, lose) => {
      const url = await listen((socket, request) => (request === 1 ? socket.write(OK) : lose(socket)));
      await post(url);
      await sleep(50);
      await expect(post(url)).rejects.toThrow(OutboundFailed);
      expect([connections, requests]).toEqual([2, 3]);
    });
  });
});
