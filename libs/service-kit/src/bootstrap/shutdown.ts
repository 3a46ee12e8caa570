import type { Server } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { HealthRegistry } from '../health/health-registry.js';
import type { InFlightRequests } from '../http/in-flight-requests.js';
import { Logger } from '../logging/logger.js';

/** Of the grace time; the rest is for consumers, the outbox and connections. */
const DRAIN_SHARE = 0.7;

/** Stops a service: not ready first, then what is in flight is finished, then connections close. */
export class Shutdown {
  private readonly logger: Logger;
  private stopping?: Promise<void>;

  constructor(
    private readonly app: INestApplication,
    private readonly inFlight: InFlightRequests,
    private readonly graceMs: number,
  ) {
    this.logger = app.get(Logger);
  }

  /** SIGTERM and SIGINT end the process: with 0 when all was finished, with 1 when the grace time ran out. */
  onSignals(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        this.logger.info({ signal }, 'stopping');
        const giveUp = setTimeout(() => {
          this.logger.error('not stopped within the grace time');
          process.exit(1);
        }, this.graceMs);
        this.stop().then(
          () => {
            clearTimeout(giveUp);
            this.logger.info('stopped');
            process.exit(0);
          },
          (err: unknown) => {
            this.logger.error({ err }, 'stopping failed');
            process.exit(1);
          },
        );
      });
    }
  }

  /** Once; later calls get the same promise. */
  stop(): Promise<void> {
    this.stopping ??= this.drainAndClose();
    return this.stopping;
  }

  /** Balancers need a moment to look elsewhere: new requests are served until the last one is, on connections that end. */
  private async drainAndClose(): Promise<void> {
    this.app.get(HealthRegistry).state = 'draining';
    await Promise.race([this.inFlight.whenIdle(), wait(this.graceMs * DRAIN_SHARE)]);
    this.inFlight.stop();
    const server = this.app.getHttpServer() as Server;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
    await this.app.close();
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
