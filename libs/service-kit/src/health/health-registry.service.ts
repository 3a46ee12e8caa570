import { Injectable } from '@nestjs/common';

/** `starting` until the service has started, `draining` once it was asked to stop. */
export type ServiceState = 'starting' | 'ready' | 'draining';

/** The state of the service and the dependencies that it needs to serve requests; libs register theirs. */
@Injectable()
export class HealthRegistry {
  state: ServiceState = 'starting';
  readonly checks = new Map<string, () => Promise<void>>();

  /** @param check  rejects when the dependency cannot be used */
  register(name: 'database' | 'redis' | 'nats' | (string & {}), check: () => Promise<void>): void {
    this.checks.set(name, check);
  }
}
