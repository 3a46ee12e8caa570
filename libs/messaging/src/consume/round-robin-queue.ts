/** An item of a queue. */
export interface WaitingItem {
  /** Items of one key are taken in order, and keys take turns. */
  readonly key: string;
  readonly bytes: number;
}

export interface ByteLimits {
  /** Bytes that all keys may hold; only a key that holds nothing may exceed its share below them. */
  total: number;
  /** Bytes that the keys which hold any share evenly. */
  shared: number;
}

/** Bytes that a key may take before the next key. */
const QUANTUM_BYTES = 32_768;

interface Queue<T> {
  readonly items: T[];
  head: number;
  credit: number;
}

/**
 * Queues items by key and returns them in round-robin order of keys: each key gets as many bytes, whatever the number and
 * size of its items (deficit round robin), and may hold its share of the bytes that were taken and not released. A key
 * that holds nothing may always take one item, so that no other key keeps it waiting.
 */
export class RoundRobinQueue<T extends WaitingItem> {
  /** Keys whose next item may be taken, in the order of their turns. */
  private readonly ready = new Map<string, Queue<T>>();
  /** Keys that hold their share. */
  private readonly blocked = new Map<string, Queue<T>>();
  private readonly unreleased = new Map<string, number>();
  private unreleasedBytes = 0;

  constructor(private readonly limits: ByteLimits) {}

  /** The bytes that were taken and not released. */
  get bytes(): number {
    return this.unreleasedBytes;
  }

  add(item: T): void {
    const known = this.ready.get(item.key) ?? this.blocked.get(item.key);
    if (known) known.items.push(item);
    else this.ready.set(item.key, { items: [item], head: 0, credit: 0 });
  }

  /** Takes the next item; undefined when none may be taken now. It holds its bytes until it is released. */
  takeNext(): T | undefined {
    while (this.ready.size > 0 && this.unreleasedBytes < this.limits.total) {
      const [key, queue] = this.ready.entries().next().value as [string, Queue<T>];
      const item = queue.items[queue.head];
      if (!this.hasShare(item)) {
        this.ready.delete(key);
        this.blocked.set(key, queue);
      } else if (item.bytes > queue.credit) {
        queue.credit += QUANTUM_BYTES;
        this.moveToEnd(key, queue);
      } else {
        queue.credit -= item.bytes;
        this.removeFirst(key, queue);
        this.addUnreleased(key, item.bytes);
        return item;
      }
    }
    return undefined;
  }

  /** Frees the bytes of an item that was taken. */
  release({ key, bytes }: WaitingItem): void {
    this.addUnreleased(key, -bytes);
    const queue = this.blocked.get(key);
    if (!queue) return;
    this.blocked.delete(key);
    this.ready.set(key, queue);
  }

  /** Removes and returns the waiting items of the keys whose first item is included. */
  remove(isIncluded: (first: T) => boolean): T[] {
    const removed: T[] = [];
    for (const queues of [this.ready, this.blocked]) {
      for (const [key, { items, head }] of queues) {
        if (!isIncluded(items[head])) continue;
        queues.delete(key);
        removed.push(...items.slice(head));
      }
    }
    return removed;
  }

  private hasShare({ key, bytes }: T): boolean {
    const unreleased = this.unreleased.get(key) ?? 0;
    return unreleased === 0 || unreleased + bytes <= this.limits.shared / this.unreleased.size;
  }

  private moveToEnd(key: string, queue: Queue<T>): void {
    this.ready.delete(key);
    this.ready.set(key, queue);
  }

  private removeFirst(key: string, queue: Queue<T>): void {
    queue.head += 1;
    if (queue.head === queue.items.length) this.ready.delete(key);
    else if (queue.head === 1_024) {
      queue.items.splice(0, queue.head);
      queue.head = 0;
    }
  }

  private addUnreleased(key: string, bytes: number): void {
    this.unreleasedBytes += bytes;
    const unreleased = (this.unreleased.get(key) ?? 0) + bytes;
    if (unreleased > 0) this.unreleased.set(key, unreleased);
    else this.unreleased.delete(key);
  }
}
