import { LRUCache } from 'lru-cache';
import { type Clock, runWithoutDeadline, UnavailableError } from '@rmm/service-kit';

/** Decides whether an invalidation concerns a cached value. */
export type Matcher<V> = (value: V) => boolean;

/** Reads the current value from its source; null when it does not exist. */
export type Read<V> = () => Promise<V | null>;

export interface ReadThroughCacheOptions {
  maxEntries: number;
  /** Entries older than this are read again; counted on the monotonic clock from the start of the read. */
  ttlMs: number;
  clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * Returns the names of what a value belongs to (`user:<id>`, `partner:<id>`), by which the cache finds it without a search;
 * for a missing value those that its key alone names.
 */
export type TagsOf<V> = (value: V | null, key: string) => readonly string[];

interface Entry<V> {
  value: V;
  tags: readonly string[];
  expiresAtMs: number;
}

/** Decides whether an invalidation that arrived during a read concerns the value that was read. */
type Invalidation<V> = (value: V | null, tags: ReadonlySet<string>) => boolean;

interface RunningRead<V> {
  result: Promise<V | null>;
  /** Invalidations that arrived since the current attempt began. */
  invalidations: Invalidation<V>[];
}

/** A read gives up after so many attempts that invalidations overtook. */
const MAX_ATTEMPTS = 5;

/**
 * Bounded read-through cache with invalidation by value:
 * - callers that miss together share one read, which the time limit of the first one's request does not end;
 * - a value is discarded and read again when an invalidation that concerns it arrived during its read, so that a slow
 *   read never stores or returns the value from before the invalidation;
 * - a missing value (null) is never cached.
 *
 * @see docs/decisions/0017-read-through-cache.md for why `fetchMethod` of `lru-cache` is not used
 */
export class ReadThroughCache<V extends object> {
  private readonly entries: LRUCache<string, Entry<V>>;
  private readonly running = new Map<string, RunningRead<V>>();

  /** The keys of the cached values that have a tag. */
  private readonly keysByTag = new Map<string, Set<string>>();

  constructor(
    private readonly options: ReadThroughCacheOptions,
    private readonly tagsOf: TagsOf<V> = () => [],
  ) {
    this.entries = new LRUCache({
      max: options.maxEntries,
      dispose: ({ tags }, key) => this.removeFromIndex(key, tags),
    });
  }

  /** Returns the cached value without reading. */
  peek(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAtMs > this.options.clock.monotonicMs()) return entry.value;
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

  /**
   * Drops the values that have one of the tags and match, including those of running reads. Takes time for these values,
   * not for the whole cache.
   */
  invalidate(tags: readonly string[], matches: Matcher<V> = () => true): void {
    if (tags.length === 0) return;
    for (const tag of tags) {
      for (const key of [...(this.keysByTag.get(tag) ?? [])]) {
        const entry = this.entries.peek(key);
        if (entry && matches(entry.value)) this.entries.delete(key);
      }
    }
    this.invalidateReads(
      (value, valueTags) => tags.some((tag) => valueTags.has(tag)) && (value === null || matches(value)),
    );
  }

  /** Drops the values that match, with a search of the whole cache; for changes that concern every tenant. */
  invalidateWhere(matches: Matcher<V>): void {
    for (const [key, entry] of this.entries.entries()) if (matches(entry.value)) this.entries.delete(key);
    this.invalidateReads((value) => value !== null && matches(value));
  }

  /** Drops every value, including those of running reads. */
  flush(): void {
    this.entries.clear();
    this.invalidateReads(() => true);
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
    running.result = runWithoutDeadline(() => this.readCurrent(key, read, running));
    return running.result;
  }

  private async readCurrent(key: string, read: Read<V>, running: RunningRead<V>): Promise<V | null> {
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        running.invalidations = [];
        const startedMs = this.options.clock.monotonicMs();
        const value = await read();
        const tags = this.tagsOf(value, key);
        if (isOvertaken(value, tags, running.invalidations)) continue;
        // No await between the check and here: an invalidation cannot arrive in between.
        if (value !== null) this.store(key, { value, tags, expiresAtMs: startedMs + this.options.ttlMs });
        return value;
      }
      throw new UnavailableError(undefined, { logDetails: { reason: 'invalidations overtook every read' } });
    } finally {
      this.running.delete(key);
    }
  }

  private invalidateReads(invalidation: Invalidation<V>): void {
    for (const { invalidations } of this.running.values()) invalidations.push(invalidation);
  }

  private store(key: string, entry: Entry<V>): void {
    this.entries.set(key, entry);
    for (const tag of entry.tags) {
      const keys = this.keysByTag.get(tag);
      if (keys) keys.add(key);
      else this.keysByTag.set(tag, new Set([key]));
    }
  }

  private removeFromIndex(key: string, tags: readonly string[]): void {
    for (const tag of tags) {
      const keys = this.keysByTag.get(tag);
      keys?.delete(key);
      if (keys?.size === 0) this.keysByTag.delete(tag);
    }
  }
}

/** A missing value is read again when an invalidation names its key: it may have been created. */
function isOvertaken<V>(value: V | null, tags: readonly string[], invalidations: readonly Invalidation<V>[]): boolean {
  const valueTags = new Set(tags);
  return invalidations.some((concerns) => concerns(value, valueTags));
}
