import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RECORD_USAGE, type KeyUsageRequest, type KeyUse, type ResolvedKey } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { Clock, Job, Logger, UnavailableError } from '@rmm/service-kit';

/**
 * Uses of a key are added up for `COLLECT_MS` and sent at the next interval: one second together, which a crash may
 * lose. The time starts with the first use of each key, so that many keys are not written at the same moment.
 */
export const COLLECT_MS = 900;
export const SEND_INTERVAL_MS = 100;
/** A batch that credentials refuses so often is dropped, so that it does not block the later ones for ever. */
const MAX_REFUSALS = 10;
/** Keys in one batch. */
const MAX_BATCH = 1_000;
/** Keys counted while credentials is unavailable; uses of more keys are not counted. */
const MAX_KEYS = 100_000;

interface Counted extends Omit<KeyUse, 'lastUsedAt'> {
  firstUsedMs: number;
  lastUsedMs: number;
}

/**
 * Counts the uses of keys in memory and sends them to credentials within a second. Batches are ordered by key id, so
 * that the writes of several processes cannot deadlock.
 */
@Injectable()
export class KeyUsage implements BeforeApplicationShutdown {
  /** In the order of the first uses. */
  private readonly counted = new Map<string, Counted>();
  /** Uses of keys that were rotated before the uses were sent. */
  private superseded: Counted[] = [];
  /** Batches without a response: sent again with the same id, so that nothing is counted twice. */
  private readonly unacknowledged: KeyUsageRequest[] = [];
  /** Refusals of the first of them. */
  private refusals = 0;
  private flushing?: Promise<void>;

  constructor(
    private readonly rpc: RpcClient,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** Sends the keys whose first unsent use is `COLLECT_MS` ago. */
  @Job({ name: 'send-key-usage', everyMs: SEND_INTERVAL_MS })
  sendCollected(): Promise<void> {
    return this.flush(COLLECT_MS);
  }

  /** Sends the counted uses while NATS is still connected; the job has ended. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.flushing;
    await this.flush();
  }

  /** Counts one accepted request. */
  count({ keyId, kind, generation }: Pick<ResolvedKey, 'keyId' | 'kind' | 'generation'>): void {
    const now = this.clock.nowMs();
    const use = this.counted.get(keyId);
    if (use?.generation === generation) {
      use.count += 1;
      use.lastUsedMs = now;
      return;
    }
    if (use) {
      this.superseded.push(use);
      this.counted.delete(keyId);
    } else if (this.counted.size >= MAX_KEYS) return;
    this.counted.set(keyId, { keyId, kind, generation, count: 1, firstUsedMs: now, lastUsedMs: now });
  }

  /**
   * Sends the counted uses. Uses that could not be sent are kept for the next call.
   * @param collectMs  sends only keys whose first unsent use is at least this long ago; default: all keys
   */
  flush(collectMs = 0): Promise<void> {
    this.flushing ??= this.send(collectMs).finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async send(collectMs: number): Promise<void> {
    if (this.unacknowledged.length === 0) this.createBatches(this.clock.nowMs() - collectMs);
    while (this.unacknowledged.length > 0) {
      try {
        await this.rpc.call(CREDENTIALS_KEYS_RECORD_USAGE, this.unacknowledged[0]);
      } catch (err) {
        if (err instanceof UnavailableError || ++this.refusals < MAX_REFUSALS) {
          this.logger.warn({ err }, 'Key uses not recorded; they are kept and sent again');
          return;
        }
        this.logger.error({ err }, 'Key uses refused repeatedly; the batch is lost and the next one is sent');
      }
      this.unacknowledged.shift();
      this.refusals = 0;
    }
  }

  private createBatches(firstUsedUntilMs: number): void {
    const ready = this.superseded;
    this.superseded = [];
    for (const [keyId, counted] of this.counted) {
      if (counted.firstUsedMs > firstUsedUntilMs) break;
      ready.push(counted);
      this.counted.delete(keyId);
    }
    ready.sort((a, b) => (a.keyId < b.keyId ? -1 : Number(a.keyId > b.keyId)));
    for (let from = 0; from < ready.length; from += MAX_BATCH) {
      this.unacknowledged.push({ batchId: randomUUID(), uses: ready.slice(from, from + MAX_BATCH).map(toUse) });
    }
  }
}

const toUse = ({ keyId, kind, generation, count, lastUsedMs }: Counted): KeyUse => ({
  keyId,
  kind,
  generation,
  count,
  lastUsedAt: new Date(lastUsedMs).toISOString(),
});
