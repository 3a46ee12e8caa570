import { Injectable } from '@nestjs/common';
import argon2 from 'argon2';
import type { MetricsRegistry } from '@rmm/service-kit';
import type { IdentityConfig } from '../config.js';
import { HashingOverloaded } from './password.errors.js';

/** Cost parameters of Argon2id; `memoryKib` in KiB. */
export interface Argon2Cost {
  memoryKib: number;
  timeCost: number;
  parallelism: number;
}

/** Limits of concurrent hashes and of waiting callers. */
export interface HashingBudget {
  concurrency: number;
  queue: number;
}

/**
 * Hashes passwords with Argon2id behind a bounded semaphore: more concurrent hashes than cores evict each other from
 * the cache, and their thread pool also serves DNS and files.
 */
@Injectable()
export class PasswordHasher {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private decoy: Promise<string> | null = null;

  constructor(
    private readonly cost: Argon2Cost,
    private readonly budget: HashingBudget,
    private readonly onHash: () => void = () => undefined,
    private readonly onRefused: () => void = () => undefined,
  ) {}

  static fromConfig(config: IdentityConfig, metrics: MetricsRegistry): PasswordHasher {
    const hashes = metrics.counter({
      name: 'rmm_password_hashes_total',
      help: 'Argon2id hashes computed, those for addresses without an account included',
    });
    const refused = metrics.counter({
      name: 'rmm_password_hashes_refused_total',
      help: 'Requests refused since too many callers waited for a hash',
    });
    const hasher = new PasswordHasher(
      config.argon2,
      config.hashing,
      () => hashes.inc(),
      () => refused.inc(),
    );
    metrics.gauge({
      name: 'rmm_password_hashes_running',
      help: 'Argon2id hashes that are computed now',
      collect() {
        this.set(hasher.running);
      },
    });
    metrics.gauge({
      name: 'rmm_password_hashes_waiting',
      help: 'Callers that wait for a hash',
      collect() {
        this.set(hasher.waiting.length);
      },
    });
    return hasher;
  }

  /** Hashes a password. @returns the PHC string to store. @throws HashingOverloaded when the queue is full */
  hash(password: string): Promise<string> {
    return this.withSlot(() => argon2.hash(password, this.options()));
  }

  /** Compares a password exactly as typed. @throws HashingOverloaded when the queue is full */
  verify(hash: string, password: string): Promise<boolean> {
    return this.withSlot(() => argon2.verify(hash, password));
  }

  /** Takes as long as a real comparison, for addresses without an account. @returns false */
  async verifyDecoy(password: string): Promise<false> {
    this.decoy ??= this.hash('no account has this password').catch((error: unknown) => {
      this.decoy = null;
      throw error;
    });
    await this.verify(await this.decoy, password);
    return false;
  }

  /** Returns true when the stored hash has lower cost parameters than the configured ones. */
  needsRehash(hash: string): boolean {
    return argon2.needsRehash(hash, this.options());
  }

  private options() {
    const { memoryKib, timeCost, parallelism } = this.cost;
    return { type: argon2.argon2id, memoryCost: memoryKib, timeCost, parallelism };
  }

  private async withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.budget.concurrency) this.running += 1;
    else await this.waitForSlot();
    try {
      this.onHash();
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }

  private waitForSlot(): Promise<void> {
    if (this.waiting.length >= this.budget.queue) {
      this.onRefused();
      throw new HashingOverloaded();
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
