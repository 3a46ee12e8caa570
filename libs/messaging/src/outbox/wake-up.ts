/** A bell: calls that come while nobody waits are remembered as one. */
export class WakeUp {
  private called = false;
  private ring?: () => void;

  call(): void {
    this.called = true;
    this.ring?.();
  }

  /** Resolves at the next call, at once if there was one since the last wait, or after `timeoutMs`. */
  async wait(timeoutMs: number): Promise<void> {
    if (!this.called) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.ring = undefined;
    this.called = false;
  }
}
