import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
  atMs: number;
}

export type Answer = (response: ServerResponse, received: Received) => void;

/** A real receiver on this machine; what it answers may change at any time. */
export class Receiver {
  readonly received: Received[] = [];
  answer: Answer = (response) => response.writeHead(200).end('ok');

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Receiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const received = {
          path: request.url ?? '',
          headers: request.headers,
          rawHeaders: request.rawHeaders,
          body: Buffer.concat(chunks).toString('utf8'),
          atMs: Date.now(),
        };
        receiver.received.push(received);
        receiver.answer(response, received);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new Receiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    return receiver;
  }

  of(deliveryId: string): Received[] {
    return this.received.filter(({ headers }) => headers['x-service-delivery-id'] === deliveryId);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** What SPEC 6.3 tells a receiver to do. */
export function isSignedWith(secret: string, { headers, body }: Received): boolean {
  const timestamp = String(headers['x-service-signature-timestamp']);
  const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return headers['x-service-signature'] === `sha256=${expected}`;
}
