import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { Logger } from '../logging/logger.js';

/**
 * Work a service repeats in the background as long as it runs: never twice at once in a process, and awaited when the
 * service stops. A failure is logged, and the next turn tries again. Replicas may run it side by side.
 */
export abstract class RepeatedWork implements OnApplicationBootstrap, OnModuleDestroy {
  /** What is being done, for the log: `The expiry of API keys`. */
  protected abstract readonly what: string;
  protected abstract readonly everyMs: number;
  private timer?: NodeJS.Timeout;
  private running?: Promise<void>;

  constructor(private readonly log: Pick<Logger, 'warn'>) {}

  /** One turn. */
  abstract run(): Promise<unknown>;

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.turn(), this.everyMs).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private turn(): void {
    this.running ??= this.run()
      .then(() => undefined)
      .catch((err: unknown) => this.log.warn({ err }, `${this.what} failed; tried again later`))
      .finally(() => (this.running = undefined));
  }
}
