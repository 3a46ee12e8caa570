/** A FIFO queue with constant cost at both ends; `Array.shift` costs time in proportion to the length. */
export class ArrayQueue<T> {
  private items: (T | undefined)[] = [];
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  /** Returns the first item without removing it. */
  peek(): T | undefined {
    return this.items[this.head];
  }

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    if (this.head === this.items.length) return undefined;
    const item = this.items[this.head];
    this.items[this.head++] = undefined;
    if (this.head === this.items.length) this.reset();
    else if (this.head > 1_024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }

  /** Removes and returns what follows the first `keep` items, in order. */
  takeAfter(keep: number): T[] {
    if (this.size <= keep) return [];
    const taken = this.items.splice(this.head + keep) as T[];
    if (keep === 0) this.reset();
    return taken;
  }

  private reset(): void {
    this.items.length = 0;
    this.head = 0;
  }
}
