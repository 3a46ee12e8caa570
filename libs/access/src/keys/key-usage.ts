import type { KeyUsageRequest, KeyUse, ResolvedKey } from '@rmm/contracts';
import type { Clock, Logger } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';

/** Sends a batch; must make a repeat of the same `batchId` harmless. */
export type RecordUsage = (batch: KeyUsageRequest) => Promise<unknown>;

export const FLUSH_INTERVAL_MS = 1_000;
/** Keys of one batch. */
const MAX_BATCH = 1_000;
/** Keys counted at most while credentials cannot be reached; uses of further keys go uncounted. */
const MAX_KEYS = 100_000;

/**
 * Counts the uses of keys in memory and hands them on each second, in batches ordered by id so that flushes of several
 * processes never wait for each other in a circle.
 */
export class KeyUsage {
  private counted = new Map<string, KeyUse>();
  /** Uses of keys that were rotated before they were handed on. */
  private superseded: KeyUse[] = [];
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
    this.timer ??= setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Sends what is counted and stops. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush();
  }

  /** One admitted request. */
  count({ keyId, kind, generation }: Pick<ResolvedKey, 'keyId' | 'kind' | 'generation'>): void {
    const use = this.counted.get(keyId);
    if (use?.generation === generation) {
      use.count += 1;
      use.lastUsedAt = this.now();
      return;
    }
    if (use) this.superseded.push(use);
    else if (this.counted.size >= MAX_KEYS) return;
    this.counted.set(keyId, { keyId, kind, generation, count: 1, lastUsedAt: this.now() });
  }

  /** Hands on everything counted so far; a failure keeps it for the next time. */
  flush(): Promise<void> {
    this.flushing ??= this.send().finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async send(): Promise<void> {
    if (this.unacknowledged.length === 0) this.makeBatches();
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

  private now(): string {
    return this.clock.now().toISOString();
  }

  private makeBatches(): void {
    const uses = [...this.superseded, ...this.counted.values()].sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
    this.counted = new Map();
    this.superseded = [];
    for (let from = 0; from < uses.length; from += MAX_BATCH) {
      this.unacknowledged.push({ batchId: randomUUID(), uses: uses.slice(from, from + MAX_BATCH) });
    }
  }
}
