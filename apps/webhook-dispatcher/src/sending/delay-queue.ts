const TICK_MS = 50;

/** Releases items after short delays, to the next tick of 50 ms. */
export class DelayQueue<T> {
  private readonly buckets = new Map<number, T[]>();
  private timer: NodeJS.Timeout | undefined;
  private lastTick = 0;
  private count = 0;

  constructor(private readonly onDue: (items: T[]) => void) {}

  get size(): number {
    return this.count;
  }

  start(): void {
    this.lastTick = tickOf(performance.now());
    this.timer = setInterval(() => this.releaseDue(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  add(item: T, delayMs: number): void {
    const tick = Math.max(this.lastTick + 1, Math.ceil((performance.now() + delayMs) / TICK_MS));
    const bucket = this.buckets.get(tick);
    if (bucket) bucket.push(item);
    else this.buckets.set(tick, [item]);
    this.count += 1;
  }

  /** Removes and returns the items that are included. */
  takeItems(isIncluded: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const [tick, bucket] of this.buckets) {
      const kept = bucket.filter((item) => !isIncluded(item) || (taken.push(item), false));
      if (kept.length === 0) this.buckets.delete(tick);
      else this.buckets.set(tick, kept);
    }
    this.count -= taken.length;
    return taken;
  }

  private releaseDue(): void {
    const now = tickOf(performance.now());
    for (let tick = this.lastTick + 1; tick <= now; tick += 1) {
      const due = this.buckets.get(tick);
      if (!due) continue;
      this.buckets.delete(tick);
      this.count -= due.length;
      this.onDue(due);
    }
    this.lastTick = Math.max(this.lastTick, now);
  }
}

const tickOf = (ms: number): number => Math.floor(ms / TICK_MS);
