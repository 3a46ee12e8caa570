import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { FleetConfig } from '@rmm/config';
import type { LimitsObserver, RefusalReason } from '@rmm/rate-limits';
import { ReadinessService } from '../health/readiness.service.js';
import { FLEET_CONFIG } from '../tokens.js';
import { MetricsRegistry } from './metrics-registry.service.js';

/** Counts what limits refuse. Names of limits are declared in the sources, so that the label has few values. */
@Injectable()
export class RateLimitMetrics implements LimitsObserver {
  private readonly refusals;

  constructor(metrics: MetricsRegistry) {
    this.refusals = metrics.counter({
      name: 'rmm_rate_limit_refusals_total',
      help: 'Requests refused by a limit: it is used up, Redis is away, or the process runs enough of them',
      labelNames: ['limit', 'reason'],
    });
  }

  countRefusal(limit: string, reason: RefusalReason): void {
    this.refusals.inc({ limit, reason });
  }
}

/** Build, readiness and dependencies of the process. */
@Injectable()
export class ServiceMetrics implements OnApplicationBootstrap {
  constructor(
    @Inject(FLEET_CONFIG) private readonly config: FleetConfig,
    private readonly metrics: MetricsRegistry,
    private readonly readiness: ReadinessService,
  ) {}

  onApplicationBootstrap(): void {
    const { config, metrics, readiness } = this;
    metrics
      .gauge({ name: 'rmm_build_info', help: 'Always 1; the labels name the build', labelNames: ['version', 'node'] })
      .set({ version: config.version, node: process.version }, 1);
    metrics.gauge({
      name: 'rmm_dependency_up',
      help: '1 while the service can use the dependency, else 0',
      labelNames: ['dependency'],
      async collect() {
        const { checks } = await readiness.check();
        for (const [dependency, state] of Object.entries(checks)) this.set({ dependency }, state === 'up' ? 1 : 0);
      },
    });
    metrics.gauge({
      name: 'rmm_ready',
      help: '1 while the service is ready, 0 while it starts, stops or misses a dependency',
      async collect() {
        const { status } = await readiness.check();
        this.set(status === 'ok' ? 1 : 0);
      },
    });
  }
}
