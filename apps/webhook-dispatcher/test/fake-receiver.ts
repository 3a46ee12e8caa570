import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  /** The path after the base of the receiver. */
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
  atMs: number;
}

export type Responder = (response: ServerResponse, received: Received) => void;

/**
 * An HTTP receiver on this machine; its response may be replaced at any time. Its paths begin with a random prefix,
 * since a port may have belonged to the receiver of another spec whose deliveries still arrive.
 */
export class FakeReceiver {
  readonly received: Received[] = [];
  respond: Responder = (response) => response.writeHead(200).end('ok');

  private constructor(
    private readonly server: Server,
    readonly base: string,
  ) {}

  static async start(): Promise<FakeReceiver> {
    const prefix = `/${randomUUID()}`;
    const server = createServer((request, response) => {
      if (!request.url?.startsWith(prefix)) return void response.writeHead(404).end();
      const path = request.url.slice(prefix.length);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const received = {
          path,
          headers: request.headers,
          rawHeaders: request.rawHeaders,
          body: Buffer.concat(chunks).toString('utf8'),
          atMs: Date.now(),
        };
        receiver.received.push(received);
        receiver.respond(response, received);
      });
    });
    // A connection that closes while it is used again costs a second request, which no spec here expects.
    server.keepAliveTimeout = 120_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new FakeReceiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`);
    return receiver;
  }

  get url(): string {
    return `${this.base}/hook`;
  }

  /** Returns the requests of one delivery, in order of arrival. */
  requestsOf(deliveryId: string): Received[] {
    return this.received.filter(({ headers }) => headers['x-service-delivery-id'] === deliveryId);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Verifies the signature of a request. @see docs/reference/webhooks.md */
export function isSignedWith(secret: string, { headers, body }: Received): boolean {
  const timestamp = String(headers['x-service-signature-timestamp']);
  const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return headers['x-service-signature'] === `sha256=${expected}`;
}
