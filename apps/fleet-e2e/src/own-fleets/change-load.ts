import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, type ApiResponse } from '@rmm/testing';

/** Pause between two requests in milliseconds. */
const PAUSE_MS = 50;

/** A client that sends one change after another, each with a name of its own, and notes what became of it. */
export class ChangeLoad {
  /** All names in the order in which they were sent. */
  readonly names: string[] = [];
  readonly acknowledged: string[] = [];
  /** Status of each name that was refused, `connection` where no response arrived. It may have been stored nevertheless. */
  readonly refused = new Map<string, number | 'connection'>();
  /** The longest times without a success and until a response, in milliseconds. */
  readonly longest = { gapMs: 0, responseMs: 0 };
  private isOver = false;
  private readonly running: Promise<void>;

  /** Starts to send. @param accepts  the status of a success */
  constructor(
    private readonly name: string,
    private readonly accepts: number,
    private readonly send: (name: string) => Promise<ApiResponse>,
  ) {
    this.running = this.run();
  }

  /** Waits for more successes. */
  async untilSuccesses(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    await eventually(() => expect(this.acknowledged.length).toBeGreaterThanOrEqual(wanted), {
      timeoutMs: 180_000,
      everyMs: 100,
    });
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.running;
  }

  private async run(): Promise<void> {
    let succeededAt = performance.now();
    for (let n = 1; !this.isOver; n++) {
      const name = `${this.name} ${n}`;
      this.names.push(name);
      const sentAt = performance.now();
      const status = await this.send(name).then(
        (response) => response.status,
        () => 'connection' as const,
      );
      const now = performance.now();
      this.longest.responseMs = Math.max(this.longest.responseMs, now - sentAt);
      if (status === this.accepts) {
        this.acknowledged.push(name);
        this.longest.gapMs = Math.max(this.longest.gapMs, now - succeededAt);
        succeededAt = now;
      } else this.refused.set(name, status);
      await sleep(PAUSE_MS);
    }
  }
}
