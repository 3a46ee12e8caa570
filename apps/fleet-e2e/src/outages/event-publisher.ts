import type { FleetHandle } from '@rmm/testing';
import { connect, headers, type NatsConnection } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PublishedEvent {
  id: string;
  type: string;
  orgId: string;
  data: object;
}

const WINDOW = 100;
const PAUSE_MS = 150;
const PATIENCE_MS = 60_000;

/** Publishes events as an RMM service of the fleet does: again until the stream has them. @see CONTRACT.md 8.1 */
export class EventPublisher {
  constructor(private readonly fleet: Pick<FleetHandle, 'natsAdminUrl'>) {}

  /** Not all at once, so that something is on its way for a while. */
  async publishAll(events: readonly PublishedEvent[]): Promise<void> {
    const { host, username, password } = new URL(this.fleet.natsAdminUrl);
    const connection = await connect({ servers: host, user: username, pass: password, maxReconnectAttempts: -1 });
    try {
      for (let from = 0; from < events.length; from += WINDOW) {
        await Promise.all(events.slice(from, from + WINDOW).map((event) => publish(connection, event)));
        await sleep(PAUSE_MS);
      }
    } finally {
      await connection.close();
    }
  }
}

/** The stream takes a message with one id once. */
async function publish(connection: NatsConnection, event: PublishedEvent): Promise<void> {
  const message = JSON.stringify({ timestamp: new Date().toISOString(), partnerId: null, ...event });
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      const sent = headers();
      sent.set('Nats-Msg-Id', event.id);
      await connection.jetstream().publish(`rmm.events.${event.orgId}.${event.type}`, message, { headers: sent });
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await sleep(100);
    }
  }
}
