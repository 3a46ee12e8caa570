import { Injectable } from '@nestjs/common';
import { UnavailableError } from '@rmm/service-kit';
import argon2 from 'argon2';
import type { IdentityConfig } from '../config.js';

/** What an Argon2id hash costs; `memoryKib` in KiB. */
export interface Argon2Cost {
  memoryKib: number;
  timeCost: number;
  parallelism: number;
}

/** How many hashes run at once, and how many callers may wait for a turn. */
export interface HashingBudget {
  concurrency: number;
  queue: number;
}

/** Thrown instead of stalling everyone when too many callers already wait for a hash. */
export class HashingOverloaded extends UnavailableError {}

/**
 * Argon2id behind a bounded semaphore: more parallel hashes than cores only evict each other from the cache,
 * and the thread pool they run on also serves DNS and files.
 */
@Injectable()
export class PasswordHasher {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private decoy: Promise<string> | null = null;

  constructor(
    private readonly cost: Argon2Cost,
    private readonly budget: HashingBudget,
  ) {}

  static fromConfig(config: IdentityConfig): PasswordHasher {
    return new PasswordHasher(config.argon2, config.hashing);
  }

  /** @returns the PHC string to store. @throws HashingOverloaded when the queue is full */
  hash(password: string): Promise<string> {
    return this.withTurn(() => argon2.hash(password, this.options()));
  }

  /** Compares exactly as typed. @throws HashingOverloaded when the queue is full */
  verify(hash: string, password: string): Promise<boolean> {
    return this.withTurn(() => argon2.verify(hash, password));
  }

  /** Spends what a real comparison costs, for addresses that have no account. Always false. */
  async verifyDecoy(password: string): Promise<false> {
    this.decoy ??= this.hash('a password nobody has').catch((error: unknown) => {
      this.decoy = null;
      throw error;
    });
    await this.verify(await this.decoy, password);
    return false;
  }

  /** True when the stored hash was made with smaller parameters than are configured now. */
  needsRehash(hash: string): boolean {
    return argon2.needsRehash(hash, this.options());
  }

  private options() {
    const { memoryKib, timeCost, parallelism } = this.cost;
    return { type: argon2.argon2id, memoryCost: memoryKib, timeCost, parallelism };
  }

  private async withTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.budget.concurrency) this.running += 1;
    else await this.turn();
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }

  private turn(): Promise<void> {
    if (this.waiting.length >= this.budget.queue) throw new HashingOverloaded();
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
