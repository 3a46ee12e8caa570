import type { KeyUsageRequest, KeyUse, ResolvedKey } from '@rmm/contracts';
import type { Clock, Logger } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';

/** Sends a batch; must make a repeat of the same `batchId` harmless. */
export type RecordUsage = (batch: KeyUsageRequest) => Promise<unknown>;

/**
 * How long uses of a key are added up, and how often those are handed on whose time has come: together a second, which
 * is what a crash may lose. Each key has its own second, so that the writes of many keys do not come all at once.
 */
export const HOLD_MS = 900;
export const HAND_ON_INTERVAL_MS = 100;
/** Keys of one batch. */
const MAX_BATCH = 1_000;
/** Keys counted at most while credentials cannot be reached; uses of further keys go uncounted. */
const MAX_KEYS = 100_000;

interface Counted extends Omit<KeyUse, 'lastUsedAt'> {
  firstUsedMs: number;
  lastUsedMs: number;
}

/**
 * Counts the uses of keys in memory and hands them on within a second, in batches ordered by id so that flushes of
 * several processes never wait for each other in a circle.
 */
export class KeyUsage {
  /** In the order of their first uses. */
  private readonly counted = new Map<string, Counted>();
  /** Uses of keys that were rotated before they were handed on. */
  private superseded: Counted[] = [];
  /** Batches that were not acknowledged: sent again as they were, so that nothing is counted twice. */
  private readonly unacknowledged: KeyUsageRequest[] = [];
  private timer?: NodeJS.Timeout;
  private flushing?: Promise<void>;

  constructor(
    private readonly record: RecordUsage,
    private readonly clock: Clock,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.flush(HOLD_MS), HAND_ON_INTERVAL_MS).unref();
  }

  /** Sends what is counted and stops. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
  }

  /** One admitted request. */
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
   * Hands on what is counted; a failure keeps it for the next time.
   * @param heldMs  only keys whose first use since they were handed on is so long ago; by default all
   */
  flush(heldMs = 0): Promise<void> {
    this.flushing ??= this.send(heldMs).finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async send(heldMs: number): Promise<void> {
    if (this.unacknowledged.length === 0) this.makeBatches(this.clock.nowMs() - heldMs);
    while (this.unacknowledged.length > 0) {
      try {
        await this.record(this.unacknowledged[0]);
        this.unacknowledged.shift();
      } catch (err) {
        this.logger.warn({ err }, 'Uses of keys could not be recorded; they are kept');
        return;
      }
    }
  }

  private makeBatches(firstUsedUntilMs: number): void {
    const due = this.superseded;
    this.superseded = [];
    for (const [keyId, counted] of this.counted) {
      if (counted.firstUsedMs > firstUsedUntilMs) break;
      due.push(counted);
      this.counted.delete(keyId);
    }
    due.sort((a, b) => (a.keyId < b.keyId ? -1 : Number(a.keyId > b.keyId)));
    for (let from = 0; from < due.length; from += MAX_BATCH) {
      this.unacknowledged.push({ batchId: randomUUID(), uses: due.slice(from, from + MAX_BATCH).map(toUse) });
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
