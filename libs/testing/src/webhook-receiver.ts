import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@rmm/testing-services';

export interface ReceivedDelivery {
  headers: IncomingHttpHeaders;
  rawBody: string;
  body: { id: string; type: string; timestamp: string; orgId: string; data: Record<string, unknown> };
}

/** Returns true when the signature is valid. @see docs/reference/webhooks.md */
export function hasValidSignature(delivery: ReceivedDelivery, secret: string): boolean {
  const timestamp = String(delivery.headers['x-service-signature-timestamp']);
  const digest = createHmac('sha256', secret).update(`${timestamp}.${delivery.rawBody}`).digest('hex');
  const given = Buffer.from(String(delivery.headers['x-service-signature'] ?? ''));
  const expected = Buffer.from(`sha256=${digest}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Webhook receiver on loopback. Responds with the given statuses, one per request, then with 200. */
export class WebhookReceiver {
  readonly received: ReceivedDelivery[] = [];
  private server?: Server;

  constructor(private readonly statuses: number[] = []) {}

  /** @returns the URL to register */
  async start(): Promise<string> {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const rawBody = Buffer.concat(chunks).toString('utf8');
        const body = JSON.parse(rawBody) as ReceivedDelivery['body'];
        this.received.push({ headers: request.headers, rawBody, body });
        response.writeHead(this.statuses.shift() ?? 200).end('received');
      });
    });
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** Waits until `count` requests of a type were received. */
  async waitFor(type: string, count = 1, timeoutMs = 30_000): Promise<ReceivedDelivery[]> {
    return eventually(
      async () => {
        const found = this.received.filter((delivery) => delivery.body.type === type);
        if (found.length < count) throw new Error(`${found.length} of ${count} deliveries of ${type} so far`);
        return Promise.resolve(found);
      },
      { timeoutMs },
    );
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise<void>((resolve) => (this.server ? this.server.close(() => resolve()) : resolve()));
  }
}
