import type { ServiceName } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';
import { currentContext, type Clock } from '@rmm/service-kit';
import { encodeMessage } from './encode-message.js';
import type { OutgoingMessage } from './outgoing-message.js';

/** A transaction that tells when it has committed: both tenant and worker transactions do. */
export type OutboxTransaction = SqlExecutor & { afterCommit(callback: () => void): void };

const INSERT = `
  insert into outbox (id, aggregate_id, subject, payload)
  select id, aggregate_id, subject, payload
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) with ordinality as m(id, aggregate_id, subject, payload, n)
  order by n`;

/**
 * Messages that leave if, and only if, the transaction they were added in commits.
 * The request's correlation id and trace context travel with them.
 */
export class Outbox {
  constructor(
    private readonly service: ServiceName,
    private readonly clock: Clock,
    private readonly wakeRelay: () => void,
  ) {}

  /**
   * Adds messages in one statement, whatever their number, in the order given.
   * @throws TypeError, RangeError  for a message that could never be published; the transaction should then fail
   */
  async add(tx: OutboxTransaction, message: OutgoingMessage | OutgoingMessage[]): Promise<void> {
    const messages = Array.isArray(message) ? message : [message];
    if (messages.length === 0) return;
    const now = this.clock.now();
    const context = currentContext();
    const rows = messages.map((each) => encodeMessage(this.service, each, context, now));
    await tx.query(INSERT, [
      rows.map((row) => row.id),
      rows.map((row) => row.aggregateId),
      rows.map((row) => row.subject),
      rows.map((row) => row.payload),
    ]);
    tx.afterCommit(this.wakeRelay);
  }
}
