import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetConfig } from '@rmm/config';
import { HealthRegistry } from '../health/health-registry.service.js';
import { Logger } from '../logging/logger.service.js';

/** Share of the grace time for requests in flight; the rest is for consumers, the outbox and connections. */
const DRAIN_SHARE = 0.7;

/**
 * Stops a service: readiness responds 503 "draining" for a moment so that balancers look elsewhere, then the port closes
 * and requests in flight are finished, then consumers and connections close.
 */
export class Shutdown {
  private readonly logger: Logger;
  private stopping?: Promise<void>;

  constructor(
    private readonly app: INestApplication,
    private readonly config: Pick<FleetConfig, 'shutdownGraceSeconds' | 'shutdownDelaySeconds'>,
  ) {
    this.logger = app.get(Logger);
  }

  /** SIGTERM and SIGINT end the process: with 0 when everything was finished, with 1 when the grace time ran out. */
  onSignals(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const listener = () => void this.stopAndExit(signal);
      process.once(signal, listener);
      (this.app.getHttpServer() as Server).once('close', () => process.off(signal, listener));
    }
  }

  /** Stops once; later calls get the same promise. */
  stop(): Promise<void> {
    this.stopping ??= this.drainAndClose();
    return this.stopping;
  }

  private async stopAndExit(signal: string): Promise<void> {
    this.logger.info({ signal }, 'stopping');
    setTimeout(() => {
      this.logger.error('not stopped within the grace time; exiting with work unfinished');
      process.exit(1);
    }, this.config.shutdownGraceSeconds * 1_000).unref();
    try {
      await this.stop();
      this.logger.info('stopped');
      process.exit(0);
    } catch (err) {
      this.logger.error({ err }, 'stopping failed; exiting');
      process.exit(1);
    }
  }

  private async drainAndClose(): Promise<void> {
    const { shutdownDelaySeconds, shutdownGraceSeconds } = this.config;
    this.app.get(HealthRegistry).state = 'draining';
    await sleep(shutdownDelaySeconds * 1_000);
    const server = this.app.getHttpServer() as Server;
    const drained = new Promise<void>((resolve) => server.close(() => resolve()));
    const drainMs = Math.max(0, shutdownGraceSeconds * DRAIN_SHARE - shutdownDelaySeconds) * 1_000;
    await Promise.race([drained, sleep(drainMs, undefined, { ref: false })]);
    server.closeAllConnections();
    await drained;
    await this.app.close();
  }
}
