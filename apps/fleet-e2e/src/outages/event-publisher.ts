import { connect, headers, type NatsConnection } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetHandle } from '@rmm/testing';
import { natsServerOf } from '../nats-server.js';

export interface PublishedEvent {
  id: string;
  type: string;
  orgId: string;
  data: object;
}

const WINDOW = 100;
const PAUSE_MS = 150;
const PATIENCE_MS = 60_000;

/**
 * Publishes events like another RMM service: repeats until the stream has stored them.
 * @see docs/reference/events.md#streams
 */
export class EventPublisher {
  /** @param pauseMs  pause between batches */
  constructor(
    private readonly fleet: Pick<FleetHandle, 'natsUrl'>,
    private readonly pauseMs = PAUSE_MS,
  ) {}

  /** Publishes in batches, so that some events are in flight while a fault is injected. */
  async publishAll(events: readonly PublishedEvent[]): Promise<void> {
    const connection = await connect({ ...natsServerOf(this.fleet), maxReconnectAttempts: -1 });
    try {
      for (let from = 0; from < events.length; from += WINDOW) {
        await Promise.all(events.slice(from, from + WINDOW).map((event) => publishEvent(connection, event)));
        await sleep(this.pauseMs);
      }
    } finally {
      await connection.close();
    }
  }
}

/** Publishes an event; repeats it with the same id, which the stream stores once. */
export async function publishEvent(connection: NatsConnection, event: PublishedEvent): Promise<void> {
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
