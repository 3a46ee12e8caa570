/** Wakes a waiting loop. Calls made while nothing waits count as one. */
export class WakeUpSignal {
  private called = false;
  private wake?: () => void;

  signal(): void {
    this.called = true;
    this.wake?.();
  }

  /** Resolves at the next call, at once if there was one since the last wait, or after `timeoutMs`. */
  async wait(timeoutMs: number): Promise<void> {
    if (!this.called) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.wake = undefined;
    this.called = false;
  }
}
