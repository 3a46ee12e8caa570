import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const RESPOND_AFTER_MS = 3;

/** Receivers on several origins that count the responses to each delivery and reject the first attempt of one in twenty. */
export class CountingReceivers {
  /** Times at which a delivery got 200, by its id; more than one is a duplicate. */
  readonly accepted = new Map<string, number[]>();
  private readonly refused = new Set<string>();
  private readonly servers: Server[] = [];

  /** @returns the URLs */
  async start(origins: number): Promise<string[]> {
    return Promise.all(Array.from({ length: origins }, () => this.startOne()));
  }

  async stop(): Promise<void> {
    for (const server of this.servers) server.closeAllConnections();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  /** Returns the deliveries that were accepted more than once, with the time of the first. */
  get doubled(): { id: string; firstAt: number }[] {
    return [...this.accepted]
      .filter(([, times]) => times.length > 1)
      .map(([id, times]) => ({ id, firstAt: Math.min(...times) }));
  }

  private async startOne(): Promise<string> {
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => void this.respond(String(request.headers['x-service-delivery-id']), response));
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }

  private async respond(id: string, response: { writeHead(status: number): { end(): unknown } }): Promise<void> {
    await sleep(RESPOND_AFTER_MS);
    if (/^[0-9a-c]0|^[0-9]1/.test(id.slice(0, 2)) && !this.refused.has(id)) {
      this.refused.add(id);
      response.writeHead(500).end();
      return;
    }
    this.accepted.set(id, [...(this.accepted.get(id) ?? []), performance.now()]);
    response.writeHead(200).end();
  }
}
