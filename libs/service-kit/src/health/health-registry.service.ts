import { Injectable } from '@nestjs/common';

/** `starting` until the service has started, `draining` once it was asked to stop. */
export type ServiceState = 'starting' | 'ready' | 'draining';

/** The state of the service and the dependencies that it needs to serve requests; libs register theirs. */
@Injectable()
export class HealthRegistry {
  readonly checks = new Map<string, () => Promise<void>>();
  private readonly onDrainingListeners = new Set<() => void>();
  private current: ServiceState = 'starting';

  get state(): ServiceState {
    return this.current;
  }

  set state(state: ServiceState) {
    const begins = state === 'draining' && this.current !== 'draining';
    this.current = state;
    if (begins) for (const listener of this.onDrainingListeners) listener();
  }

  /** Calls the listener when the service was asked to stop, while requests in flight are still served. */
  onDraining(listener: () => void): void {
    this.onDrainingListeners.add(listener);
  }

  /** @param check  rejects when the dependency cannot be used */
  register(name: 'database' | 'redis' | 'nats' | (string & {}), check: () => Promise<void>): void {
    this.checks.set(name, check);
  }
}
