import { type Clock, UnavailableError } from '@rmm/service-kit';
import { LRUCache } from 'lru-cache';

/** Which cached values an invalidation means. */
export type Matcher<V> = (value: V) => boolean;

export interface ReadThroughCacheOptions {
  maxEntries: number;
  /** An entry older than this is read again. */
  ttlMs: number;
  clock: Clock;
}

interface Entry<V> {
  value: V;
  expiresAtMs: number;
}

interface Fill<V> {
  promise: Promise<V | null>;
  /** Invalidations heard since the present read began. */
  heard: Matcher<V>[];
}

/** A read that keeps being overtaken by invalidations gives up after so many tries. */
const MAX_READS_PER_FILL = 5;

/**
 * A bounded cache whose entries are dropped by invalidations, without the usual races:
 * - callers that miss together share one read;
 * - a value whose read began before an invalidation that means it is thrown away and read again, so that a late
 *   answer never outlives the invalidation, and nobody who asks after it is given the older value;
 * - what does not exist (null) is never kept.
 */
export class ReadThroughCache<V extends object> {
  private readonly entries: LRUCache<string, Entry<V>>;
  private readonly fills = new Map<string, Fill<V>>();

  constructor(private readonly options: ReadThroughCacheOptions) {
    this.entries = new LRUCache({ max: options.maxEntries });
  }

  /** The cached value, without reading. */
  peek(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAtMs > this.options.clock.nowMs()) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  /**
   * @param read  must answer from the truth as it is when it is called
   * @throws whatever `read` throws; UnavailableError when invalidations overtake every try
   */
  async get(key: string, read: () => Promise<V | null>): Promise<V | null> {
    return this.peek(key) ?? (await this.join(key, read));
  }

  /** Drops what matches, now and in reads under way. */
  invalidate(matches: Matcher<V>): void {
    for (const [key, entry] of this.entries.entries()) if (matches(entry.value)) this.entries.delete(key);
    for (const fill of this.fills.values()) fill.heard.push(matches);
  }

  /** Drops everything, now and in reads under way. */
  flush(): void {
    this.entries.clear();
    for (const fill of this.fills.values()) fill.heard.push(() => true);
  }

  get size(): number {
    return this.entries.size;
  }

  private join(key: string, read: () => Promise<V | null>): Promise<V | null> {
    const running = this.fills.get(key);
    if (running) return running.promise;
    // Known before it starts, so that it hears what comes while it starts.
    const fill: Fill<V> = { promise: Promise.resolve(null), heard: [] };
    this.fills.set(key, fill);
    fill.promise = this.fill(key, read, fill);
    return fill.promise;
  }

  private async fill(key: string, read: () => Promise<V | null>, fill: Fill<V>): Promise<V | null> {
    try {
      for (let tries = 0; tries < MAX_READS_PER_FILL; tries++) {
        fill.heard = [];
        const startedMs = this.options.clock.nowMs();
        const value = await read();
        if (overtaken(value, fill.heard)) continue;
        // No await between this check and the end of the fill: nothing can be heard in between.
        if (value !== null) this.entries.set(key, { value, expiresAtMs: startedMs + this.options.ttlMs });
        return value;
      }
      throw new UnavailableError(undefined, { logDetails: { reason: 'invalidations overtook every read' } });
    } finally {
      this.fills.delete(key);
    }
  }
}

/** Of an absent value nobody can say whether an invalidation meant it, so it counts as meant. */
function overtaken<V>(value: V | null, heard: Matcher<V>[]): boolean {
  return value === null ? heard.length > 0 : heard.some((matches) => matches(value));
}
