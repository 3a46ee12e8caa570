import type { LeasedBatch, OutboxRow } from './outbox-store.js';
import { NatsUnreachable, type JetStreamPublisher } from './jetstream-publisher.js';

/** What became of a leased batch. */
export interface PublishedBatch {
  published: OutboxRow[];
  /** Aggregates with a row the stream refused: this row and the later ones stay. */
  refused: Map<string, Error>;
  /** Set when NATS could not be reached: the rows that are not published stay as they are. */
  unreachable?: Error;
}

const BROADCAST = 'rmm.broadcast.';
/** Stop this long before the lease ends: what is in flight then still belongs to us. In milliseconds. */
const LEASE_MARGIN_MS = 1_000;

/**
 * Publishes a batch with `window` messages in flight. The rows of one aggregate leave one after the other, each once
 * the one before it is acknowledged: whatever breaks in between, the stream never holds a later one without it.
 */
export async function publishBatch(
  publisher: JetStreamPublisher,
  batch: LeasedBatch,
  window: number,
): Promise<PublishedBatch> {
  const chains = byAggregate(batch.rows);
  const result: PublishedBatch = { published: [], refused: new Map() };
  const broadcasts: OutboxRow[] = [];
  let next = 0;

  const publishChain = async (chain: OutboxRow[]): Promise<void> => {
    for (const row of chain) {
      if (result.unreachable || performance.now() > batch.expiresAt - LEASE_MARGIN_MS) return;
      try {
        if (row.subject.startsWith(BROADCAST)) {
          publisher.broadcast(row.subject, row.payload);
          broadcasts.push(row);
        } else {
          await publisher.publish(row.subject, row.payload, row.id);
          result.published.push(row);
        }
      } catch (error) {
        if (error instanceof NatsUnreachable) result.unreachable ??= error;
        else result.refused.set(row.aggregateId, error as Error);
        return;
      }
    }
  };
  const worker = async (): Promise<void> => {
    while (next < chains.length) await publishChain(chains[next++]);
  };
  await Promise.all(Array.from({ length: Math.min(window, chains.length) }, worker));

  if (broadcasts.length > 0 && !result.unreachable) {
    await publisher.flush().then(
      () => result.published.push(...broadcasts),
      (error: Error) => (result.unreachable = error),
    );
  }
  return result;
}

/** The aggregates in the order of their first rows. */
function byAggregate(rows: readonly OutboxRow[]): OutboxRow[][] {
  const chains = new Map<string, OutboxRow[]>();
  for (const row of rows) {
    const chain = chains.get(row.aggregateId);
    if (chain) chain.push(row);
    else chains.set(row.aggregateId, [row]);
  }
  return [...chains.values()];
}
