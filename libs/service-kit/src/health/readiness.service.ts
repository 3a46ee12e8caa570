import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import { type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { HealthRegistry, type ServiceState } from './health-registry.service.js';

export interface Readiness {
  status: 'ok' | 'unavailable';
  state: ServiceState;
  checks: Record<string, 'up' | 'down'>;
}

/** A dependency that does not respond within this time counts as down; in milliseconds. */
const CHECK_TIMEOUT_MS = 2_000;
/** Results are reused for this time, so that probes do not become load; in milliseconds. */
const CACHE_MS = 500;

/** Returns true when the service can serve requests: it has started, does not stop, and every dependency is up. */
@Injectable()
export class ReadinessService {
  constructor(
    private readonly registry: HealthRegistry,
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<Readiness> {
    const results = Object.entries((await this.run()).details);
    const checks = Object.fromEntries(results.map(([name, { status }]) => [name, status === 'up' ? 'up' : 'down']));
    const { state } = this.registry;
    const isReady = state === 'ready' && Object.values(checks).every((status) => status === 'up');
    return { status: isReady ? 'ok' : 'unavailable', state, checks } as Readiness;
  }

  private async run(): Promise<HealthCheckResult> {
    const checks = [...this.registry.checks].map(
      ([name, check]) =>
        () =>
          this.indicators.check(name).attempt(check).withTimeout(CHECK_TIMEOUT_MS).cacheFor(CACHE_MS),
    );
    return this.health.check(checks).catch((error: unknown) => {
      if (error instanceof ServiceUnavailableException) return error.getResponse() as HealthCheckResult;
      throw error;
    });
  }
}
