/** A queue whose ends cost the same however long it is: shifting an array of thousands is not free. */
export class ArrayQueue<T> {
  private items: (T | undefined)[] = [];
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  push(item: T): void {
    this.items.push(item);
  }

  /** Puts one back to where it came from. */
  unshift(item: T): void {
    if (this.head === 0) this.items.unshift(item);
    else this.items[--this.head] = item;
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

  /** Takes what stands behind the first `kept`, in order. */
  takeBehind(kept: number): T[] {
    if (this.size <= kept) return [];
    const taken = this.items.splice(this.head + kept) as T[];
    if (kept === 0) this.reset();
    return taken;
  }

  private reset(): void {
    this.items.length = 0;
    this.head = 0;
  }
}
