import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';

/** A process that has not renewed for so long has lost what it held. Longer than any attempt may take. */
export const LEASE_SECONDS = 45;
const RENEW_MS = 5_000;

/**
 * The identity under which this process holds deliveries. One row is renewed, whatever the number of deliveries; it is
 * the row that counts, not its time alone: until another process has removed it, everything held is still ours.
 */
@Injectable()
export class InstanceLease {
  #owner: string = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #lost: () => void = () => undefined;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly logger: Logger,
  ) {}

  get owner(): string {
    return this.#owner;
  }

  /** @param lost  what was held under the old identity belongs to others now */
  async start(lost: () => void): Promise<void> {
    this.#lost = lost;
    await this.#register();
    this.#schedule();
  }

  /** @throws when the database cannot be asked; the lease then simply was not renewed */
  async renew(): Promise<void> {
    const renewed = await this.worker.query(
      `update dispatcher_instance set lease_until = now() + make_interval(secs => $2) where id = $1 returning id`,
      [this.#owner, LEASE_SECONDS],
    );
    if (renewed.length > 0) return;
    this.logger.warn('The lease of this process has lapsed: it goes on under a new identity');
    this.#owner = randomUUID();
    await this.#register();
    this.#lost();
  }

  /** Hands everything back: others may claim it at once. */
  async release(): Promise<void> {
    clearTimeout(this.#timer);
    await this.worker.query(
      `with gone as (delete from dispatcher_instance where id = $1)
       update delivery set lease_owner = null, due_at = least(due_at, now()) where lease_owner = $1`,
      [this.#owner],
    );
  }

  /** Ends without handing anything back, as a process that was killed. For specs. */
  abandon(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.renew()
        .catch((err: unknown) => this.logger.warn({ err }, 'The lease could not be renewed'))
        .finally(() => {
          if (this.#timer) this.#schedule();
        });
    }, RENEW_MS).unref();
  }

  async #register(): Promise<void> {
    await this.worker.query(
      `insert into dispatcher_instance (id, lease_until) values ($1, now() + make_interval(secs => $2))`,
      [this.#owner, LEASE_SECONDS],
    );
  }
}
