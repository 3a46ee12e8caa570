import { LRUCache } from 'lru-cache';
import { type Clock, UnavailableError } from '@rmm/service-kit';

/** Decides whether an invalidation concerns a cached value. */
export type Matcher<V> = (value: V) => boolean;

/** Reads the current value from its source; null when it does not exist. */
export type Read<V> = () => Promise<V | null>;

export interface ReadThroughCacheOptions {
  maxEntries: number;
  /** Entries older than this are read again; counted from the start of the read. */
  ttlMs: number;
  clock: Clock;
}

interface Entry<V> {
  value: V;
  expiresAtMs: number;
}

interface RunningRead<V> {
  result: Promise<V | null>;
  /** Invalidations that arrived since the current attempt began. */
  invalidations: Matcher<V>[];
}

/** A read gives up after so many attempts that invalidations overtook. */
const MAX_ATTEMPTS = 5;

/**
 * Bounded read-through cache with invalidation by value:
 * - callers that miss together share one read;
 * - a value is discarded and read again when an invalidation that concerns it arrived during its read, so that a slow
 *   read never stores or returns the value from before the invalidation;
 * - a missing value (null) is never cached.
 *
 * @see docs/decisions/0017-read-through-cache.md for why `fetchMethod` of `lru-cache` is not used
 */
export class ReadThroughCache<V extends object> {
  private readonly entries: LRUCache<string, Entry<V>>;
  private readonly running = new Map<string, RunningRead<V>>();

  constructor(private readonly options: ReadThroughCacheOptions) {
    this.entries = new LRUCache({ max: options.maxEntries });
  }

  /** Returns the cached value without reading. */
  peek(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAtMs > this.options.clock.nowMs()) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  /**
   * Returns the cached value, or reads and caches it.
   * @param read  must return the state of the source at the time of the call or later
   * @throws whatever `read` throws; UnavailableError when invalidations overtake every attempt
   */
  async get(key: string, read: Read<V>): Promise<V | null> {
    return this.peek(key) ?? (await this.share(key, read));
  }

  /** Drops the values that match, including those of running reads. */
  invalidate(matches: Matcher<V>): void {
    for (const [key, entry] of this.entries.entries()) if (matches(entry.value)) this.entries.delete(key);
    for (const { invalidations } of this.running.values()) invalidations.push(matches);
  }

  /** Drops every value, including those of running reads. */
  flush(): void {
    this.invalidate(() => true);
  }

  get size(): number {
    return this.entries.size;
  }

  private share(key: string, read: Read<V>): Promise<V | null> {
    const other = this.running.get(key);
    if (other) return other.result;
    // Registered before the read starts, so that it receives the invalidations that arrive while it starts.
    const running: RunningRead<V> = { result: Promise.resolve(null), invalidations: [] };
    this.running.set(key, running);
    running.result = this.readCurrent(key, read, running);
    return running.result;
  }

  private async readCurrent(key: string, read: Read<V>, running: RunningRead<V>): Promise<V | null> {
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        running.invalidations = [];
        const startedMs = this.options.clock.nowMs();
        const value = await read();
        if (isOvertaken(value, running.invalidations)) continue;
        // No await between the check and here: an invalidation cannot arrive in between.
        if (value !== null) this.entries.set(key, { value, expiresAtMs: startedMs + this.options.ttlMs });
        return value;
      }
      throw new UnavailableError(undefined, { logDetails: { reason: 'invalidations overtook every read' } });
    } finally {
      this.running.delete(key);
    }
  }
}

/** A missing value matches every invalidation, because the invalidation may be about its creation. */
function isOvertaken<V>(value: V | null, invalidations: readonly Matcher<V>[]): boolean {
  return value === null ? invalidations.length > 0 : invalidations.some((matches) => matches(value));
}
