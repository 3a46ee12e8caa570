import { Logger } from '@nestjs/common';
import type { ConsumerMessages, JsMsg } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { STREAMS, type StreamKind } from '@rmm/contracts';
import type { NatsLink } from '../connection/nats-link.service.js';
import { assertDurable } from '../streams/durables.js';

export interface DurableOptions {
  stream: StreamKind;
  /** Name of the consumer on the server, whose messages the replicas of a service share. */
  durable: string;
  subjects: readonly string[];
  /** Number of messages fetched ahead of the handler. */
  prefetch: number;
  /** The server delivers headers only. */
  headersOnly?: boolean;
}

/**
 * Passes the messages of one durable pull consumer to a handler for the life of the process, across reconnects and
 * after the consumer or stream was deleted and created again. It never creates the consumer: `setup-streams` does.
 */
export class DurableConsumer {
  private readonly logger = new Logger('Consumer');
  private messages?: ConsumerMessages;
  private running?: Promise<void>;
  private stopped = false;

  constructor(
    private readonly link: NatsLink,
    private readonly options: DurableOptions,
    private readonly accept: (message: JsMsg) => Promise<void> | void,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Accepts no message after it resolves. Messages fetched and not accepted are delivered to another replica. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.messages?.stop();
    if (this.running) await pTimeout(this.running, { milliseconds: 3_000, message: false });
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.stopped) {
      try {
        await assertDurable(this.link.connection, this.options);
        failures = 0;
        await this.consume();
      } catch (error) {
        if (this.stopped) return;
        failures += 1;
        if (failures === 1) {
          this.logger.warn(`Consumer ${this.options.durable} failed; restarting it: ${(error as Error).message}`);
        }
        await sleep(Math.min(250 * 2 ** failures, 5_000), undefined, { ref: false });
      }
    }
  }

  private async consume(): Promise<void> {
    const { stream, durable, prefetch } = this.options;
    const consumer = await this.link.connection.jetstream().consumers.get(STREAMS[stream].name, durable);
    const messages = await consumer.consume({
      max_messages: prefetch,
      expires: 30_000,
      idle_heartbeat: 5_000,
      abort_on_missing_resource: true,
    });
    this.messages = messages;
    if (this.stopped) messages.stop();
    for await (const message of messages) {
      if (this.stopped) message.nak();
      else await this.accept(message);
    }
  }
}
