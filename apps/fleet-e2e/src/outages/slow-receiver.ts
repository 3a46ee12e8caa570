import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver on loopback that responds 200, to `/slow` not before `release`, and counts the requests. */
export class SlowReceiver {
  /** The number of arrivals of each delivery, by its id. */
  readonly arrivals = new Map<string, number>();
  /** The events that arrived at a path other than `/slow`, by their ids. */
  readonly quickEvents = new Set<string>();
  private waiting: ServerResponse[] | null = [];
  private readonly server: Server = createServer((request, response) => {
    const { url, headers } = request;
    const id = String(headers['x-service-delivery-id']);
    this.arrivals.set(id, (this.arrivals.get(id) ?? 0) + 1);
    if (url !== '/slow') this.quickEvents.add(String(headers['x-service-event-id']));
    request.resume().on('end', () => (url === '/slow' && this.waiting ? this.waiting.push(response) : response.end()));
  });

  /** @returns the URL without a path */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Responds to the requests that wait, and to later ones at once. */
  release(): void {
    for (const response of this.waiting ?? []) response.end();
    this.waiting = null;
  }

  /** Returns the deliveries that arrived more than once. */
  get doubled(): string[] {
    return [...this.arrivals].filter(([, count]) => count > 1).map(([id]) => id);
  }
}
