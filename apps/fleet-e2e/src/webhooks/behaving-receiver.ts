import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `hang` never responds; `refuse once` responds 503 to the first attempt of each delivery. */
export type Behavior = 'ok' | 'hang' | 'refuse once';

/** A receiver on loopback whose response depends on the path. It counts by the name in the URL. */
export class BehavingReceiver {
  private readonly server: Server;
  private readonly accepted = new Map<string, Set<string>>();
  private readonly attempted = new Map<string, Set<string>>();
  private readonly refused = new Set<string>();

  constructor() {
    this.server = createServer((request, response) => {
      request.resume();
      request.on('end', () => this.respond(request, response));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Returns the URL to register. */
  url(behavior: Behavior, name: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/${encodeURIComponent(behavior)}/${name}`;
  }

  /** Returns the ids of the events that got 200. */
  acceptedBy(name: string): Set<string> {
    return idsOf(this.accepted, name);
  }

  /** Returns the ids of the events that were sent, whatever the response. */
  attemptedAt(name: string): Set<string> {
    return idsOf(this.attempted, name);
  }

  private respond({ headers, url = '' }: IncomingMessage, response: ServerResponse): void {
    const [, behavior, name = ''] = url.split('/').map(decodeURIComponent);
    const eventId = String(headers['x-service-event-id']);
    const deliveryId = String(headers['x-service-delivery-id']);
    this.attemptedAt(name).add(eventId);
    if (behavior === 'hang') return;
    if (behavior === 'refuse once' && !this.refused.has(deliveryId)) {
      this.refused.add(deliveryId);
      response.writeHead(503).end();
      return;
    }
    this.acceptedBy(name).add(eventId);
    response.writeHead(200).end();
  }
}

function idsOf(all: Map<string, Set<string>>, name: string): Set<string> {
  const ids = all.get(name) ?? new Set();
  all.set(name, ids);
  return ids;
}
