import { NatsUnavailable } from '../messaging.errors.js';
import type { JetStreamPublisher } from './jetstream.publisher.js';
import type { LeasedBatch, OutboxRow } from './outbox.repository.js';

/** The result of publishing a leased batch. */
export interface PublishedBatch {
  published: OutboxRow[];
  /** Aggregates with a row that the stream refused: this row and the later ones stay in the outbox. */
  refused: Map<string, Error>;
  /** Set when NATS was unavailable: the rows that are not published stay in the outbox. */
  unavailable?: Error;
}

/** Stops this long before the lease ends, in milliseconds, so that messages in flight are still covered by it. */
const LEASE_MARGIN_MS = 1_000;

/**
 * Publishes a batch with `window` messages in flight. Each row of an aggregate is sent once the one before it is
 * acknowledged: after any failure the stream has no message of an aggregate without the earlier ones.
 */
export async function publishBatch(
  publisher: JetStreamPublisher,
  batch: LeasedBatch,
  window: number,
): Promise<PublishedBatch> {
  const chains = byAggregate(batch.rows);
  const result: PublishedBatch = { published: [], refused: new Map() };
  let next = 0;

  const publishChain = async (chain: OutboxRow[]): Promise<void> => {
    for (const row of chain) {
      if (result.unavailable || performance.now() > batch.expiresAt - LEASE_MARGIN_MS) return;
      try {
        await publisher.publish(row.subject, row.payload, row.id);
        result.published.push(row);
      } catch (error) {
        if (error instanceof NatsUnavailable) result.unavailable ??= error;
        else result.refused.set(row.aggregateId, error as Error);
        return;
      }
    }
  };
  const worker = async (): Promise<void> => {
    while (next < chains.length) await publishChain(chains[next++]);
  };
  await Promise.all(chains.slice(0, window).map(worker));
  return result;
}

/** Groups the rows by aggregate, in the order of the first row of each. */
function byAggregate(rows: readonly OutboxRow[]): OutboxRow[][] {
  const chains = new Map<string, OutboxRow[]>();
  for (const row of rows) {
    const chain = chains.get(row.aggregateId);
    if (chain) chain.push(row);
    else chains.set(row.aggregateId, [row]);
  }
  return [...chains.values()];
}
