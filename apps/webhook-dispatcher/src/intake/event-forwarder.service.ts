import { Injectable } from '@nestjs/common';
import type { Msg, Subscription as NatsSubscription } from 'nats';
import { NatsLink } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { isWithoutResponder, subjectOfReplica } from '../replicas/replica-signals.service.js';
import type { EventResult, IncomingEvent } from './webhook-event.mapper.js';

/** Longer than a replica takes to store an event; the event is then routed again and its deliveries are looked up. */
const REPLY_MS = 10_000;
/** A message of NATS has at most a megabyte. */
const BATCH_BYTES = 500_000;
const BATCH_EVENTS = 200;

interface Queued {
  event: IncomingEvent;
  settle: (result: EventResult | 'lost') => void;
}

/** Passes events to the replicas that own their organizations, and receives those of this replica. */
@Injectable()
export class EventForwarderService {
  private readonly queues = new Map<string, Queued[]>();
  /** Sent and without a reply so far. */
  private readonly sent = new Set<{ owner: string; batch: readonly Queued[] }>();
  private subscription: NatsSubscription | undefined;

  constructor(
    private readonly link: NatsLink,
    private readonly leases: PartitionLeaseManagerService,
    private readonly logger: Logger,
  ) {}

  /** @param accept  handles a set of events of this replica, in order */
  start(accept: (events: IncomingEvent[]) => Promise<EventResult[]>): void {
    const callback = (error: Error | null, message: Msg) => {
      if (error) this.logger.error({ err: error }, 'Events of other replicas cannot be received; they are sent again');
      else void this.reply(message, accept);
    };
    this.subscription = this.link.connection.subscribe(subjectOfReplica(this.leases.replicaId), { callback });
    this.leases.onReplicaEnded((replicaId) => this.giveUp(replicaId));
  }

  /** Receives no more events; their senders route them again. */
  stop(): void {
    this.subscription?.unsubscribe();
  }

  /** @returns what the owner did with the event; `lost` when it did not reply, so that the event may be stored or not */
  forward(owner: string, event: IncomingEvent): Promise<EventResult | 'lost'> {
    return new Promise((settle) => {
      const queue = this.queues.get(owner);
      if (queue) queue.push({ event, settle });
      else {
        this.queues.set(owner, [{ event, settle }]);
        setImmediate(() => this.flush(owner));
      }
    });
  }

  private flush(owner: string): void {
    const queue = this.queues.get(owner) ?? [];
    this.queues.delete(owner);
    let batch: Queued[] = [];
    let bytes = 0;
    for (const queued of queue) {
      const size = Buffer.byteLength(queued.event.body);
      if (batch.length === BATCH_EVENTS || (bytes + size > BATCH_BYTES && batch.length > 0)) {
        void this.send(owner, batch);
        batch = [];
        bytes = 0;
      }
      batch.push(queued);
      bytes += size;
    }
    if (batch.length > 0) void this.send(owner, batch);
  }

  /** Never rejects. */
  private async send(owner: string, batch: readonly Queued[]): Promise<void> {
    const payload = JSON.stringify(batch.map(({ event }) => event));
    let results: EventResult[] = [];
    const request = { owner, batch };
    this.sent.add(request);
    try {
      const reply = await this.link.connection.request(subjectOfReplica(owner), payload, { timeout: REPLY_MS });
      results = reply.json<EventResult[]>();
    } catch (err) {
      if (isWithoutResponder(err)) this.leases.lookForDead();
      this.logger.warn(
        { err, owner, events: batch.length },
        'The owner of events did not reply; they are routed again',
      );
    }
    this.sent.delete(request);
    for (const [i, { settle }] of batch.entries()) settle(results[i] ?? 'lost');
  }

  /** Has the events routed again that a replica without partitions got: one that died does not reply. */
  private giveUp(replicaId: string): void {
    const given = [...this.sent].filter(({ owner }) => owner === replicaId);
    for (const { batch } of given) for (const { settle } of batch) settle('lost');
  }

  private async reply(message: Msg, accept: (events: IncomingEvent[]) => Promise<EventResult[]>): Promise<void> {
    try {
      message.respond(JSON.stringify(await accept(message.json<IncomingEvent[]>())));
    } catch (err) {
      this.logger.error({ err }, 'Events of another replica were not handled; it sends them again');
    }
  }
}
