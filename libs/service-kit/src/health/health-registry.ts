import { Injectable } from '@nestjs/common';

/** `starting` until the service has started, `draining` once it was asked to stop. */
export type ServiceState = 'starting' | 'ready' | 'draining';

export interface Readiness {
  ready: boolean;
  body: { status: 'ok' | 'unavailable'; state: ServiceState; checks: Record<string, 'up' | 'down'> };
}

/** A check that does not answer within this counts as down, in milliseconds. */
const CHECK_TIMEOUT_MS = 2_000;
/** Answers younger than this are given again: probes must not become load, in milliseconds. */
const REMEMBERED_MS = 500;

/** Who must be up for this service to take requests: libs register, `/health/ready` asks. */
@Injectable()
export class HealthRegistry {
  state: ServiceState = 'starting';
  private readonly checks = new Map<string, () => Promise<void>>();
  private remembered?: { at: number; results: Promise<Record<string, 'up' | 'down'>> };

  /** @param check  rejects when the dependency cannot be used */
  register(name: 'database' | 'redis' | 'nats' | (string & {}), check: () => Promise<void>): void {
    this.checks.set(name, check);
  }

  async readiness(): Promise<Readiness> {
    const checks = await this.results();
    const ready = this.state === 'ready' && Object.values(checks).every((result) => result === 'up');
    return { ready, body: { status: ready ? 'ok' : 'unavailable', state: this.state, checks } };
  }

  private results(): Promise<Record<string, 'up' | 'down'>> {
    const now = performance.now();
    if (this.remembered === undefined || now - this.remembered.at > REMEMBERED_MS) {
      this.remembered = { at: now, results: this.ask() };
    }
    return this.remembered.results;
  }

  private async ask(): Promise<Record<string, 'up' | 'down'>> {
    const entries = [...this.checks].map(async ([name, check]) => [name, await verdict(check)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }
}

async function verdict(check: () => Promise<void>): Promise<'up' | 'down'> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<'down'>((resolve) => {
    timer = setTimeout(() => resolve('down'), CHECK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([check().then(() => 'up' as const), deadline]);
  } catch {
    return 'down';
  } finally {
    clearTimeout(timer);
  }
}
