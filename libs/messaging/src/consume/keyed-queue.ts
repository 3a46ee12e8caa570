/** Runs tasks of one key in order and tasks of different keys concurrently, at most `limit` at a time. */
export class KeyedQueue {
  private readonly tails = new Map<string, Promise<void>>();
  private readonly waiting: (() => void)[] = [];
  private accepted = 0;

  constructor(private readonly limit: number) {}

  /** Resolves when the task is accepted, which gives the caller back-pressure; tasks must not reject. */
  async add(key: string, task: () => Promise<void>): Promise<void> {
    while (this.accepted >= this.limit) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.accepted += 1;
    const tail = (this.tails.get(key) ?? Promise.resolve()).then(task).finally(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key);
      this.accepted -= 1;
      this.waiting.shift()?.();
    });
    this.tails.set(key, tail);
  }

  /** Resolves when all tasks accepted so far have ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.tails.values());
  }
}
