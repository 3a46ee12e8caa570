import { Injectable } from '@nestjs/common';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import {
  KEY_WINDOW_SCRIPT,
  KEY_WINDOW_SCRIPT_SHA,
  READ_WINDOW_SCRIPT,
  READ_WINDOW_SCRIPT_SHA,
} from './key-window-script.js';

/** Result of charging one request to a window, or of reading the window. */
export interface KeyWindowResult {
  /** When only read: whether a request would be allowed. */
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds at which the oldest counted request leaves the window; of a refusal, the one that must leave first. */
  resetAtSeconds: number;
  /** Whole seconds until a request is allowed again; 0 when this one was. */
  retryAfterSeconds: number;
}

export const WINDOW_SECONDS = 3_600;
/** Charges of one Redis call, which blocks Redis for about half a millisecond. */
const MAX_BATCH = 64;

interface Charge {
  bucket: string;
  limit: number;
  resolve: (result: KeyWindowResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Limits the requests of a key in any sliding hour, exactly, for all replicas together; timed by the clock of Redis.
 * Requests that arrive in one turn of the event loop share one Redis call.
 */
@Injectable()
export class KeyWindow {
  /** Added to the time of Redis; specs change it instead of waiting an hour. */
  clockOffsetSeconds = 0;
  private waiting: Charge[] = [];

  constructor(private readonly redis: RedisConnections) {}

  /**
   * Charges one request.
   * @param bucket  name of the window: `api:<keyId>`
   * @param limit  requests in any hour
   * @throws UnavailableError  503 when Redis is unavailable
   */
  charge(bucket: string, limit: number): Promise<KeyWindowResult> {
    return new Promise((resolve, reject) => {
      if (this.waiting.push({ bucket, limit, resolve, reject }) === 1) setImmediate(() => this.send());
    });
  }

  /**
   * Reads a window without charging it.
   * @throws UnavailableError  503 when Redis is unavailable
   */
  async read(bucket: string, limit: number): Promise<KeyWindowResult> {
    try {
      const rest = [2, ...keysOf(bucket), WINDOW_SECONDS, this.clockOffsetSeconds, limit] as const;
      const numbers = await this.evaluate(READ_WINDOW_SCRIPT, READ_WINDOW_SCRIPT_SHA, rest);
      return toResult(limit, numbers);
    } catch (cause) {
      throw new UnavailableError(undefined, { cause, logDetails: { window: bucket } });
    }
  }

  private send(): void {
    const charges = this.waiting;
    this.waiting = [];
    for (const group of this.redis.shared.isCluster ? byBucket(charges) : [charges]) {
      for (let from = 0; from < group.length; from += MAX_BATCH) {
        void this.chargeTogether(group.slice(from, from + MAX_BATCH));
      }
    }
  }

  private async chargeTogether(charges: readonly Charge[]): Promise<void> {
    try {
      const numbers = await this.run(charges);
      charges.forEach(({ limit, resolve }, index) => {
        resolve(toResult(limit, numbers.slice(4 * index, 4 * index + 4)));
      });
    } catch (cause) {
      for (const { bucket, reject } of charges) {
        reject(new UnavailableError(undefined, { cause, logDetails: { window: bucket } }));
      }
    }
  }

  private run(charges: readonly Charge[]): Promise<number[]> {
    const names = charges.flatMap(({ bucket }) => keysOf(bucket));
    const limits = charges.map(({ limit }) => limit);
    const rest = [names.length, ...names, WINDOW_SECONDS, this.clockOffsetSeconds, ...limits] as const;
    return this.evaluate(KEY_WINDOW_SCRIPT, KEY_WINDOW_SCRIPT_SHA, rest);
  }

  private async evaluate(
    script: string,
    sha: string,
    rest: readonly [number, ...(string | number)[]],
  ): Promise<number[]> {
    const redis = this.redis.shared;
    try {
      return (await redis.evalsha(sha, ...rest)) as number[];
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return (await redis.eval(script, ...rest)) as number[];
    }
  }
}

const keysOf = (bucket: string): [string, string] => [
  `rmm:keys:window:{${bucket}}:cells`,
  `rmm:keys:window:{${bucket}}:total`,
];

function toResult(limit: number, numbers: readonly number[]): KeyWindowResult {
  const [allowed, remaining, resetAtSeconds, retryAfterSeconds] = numbers;
  return { allowed: allowed === 1, limit, remaining, resetAtSeconds, retryAfterSeconds };
}

/** Groups charges by window, because one call to a Redis cluster may only name keys of one slot. */
function byBucket(charges: readonly Charge[]): Charge[][] {
  const groups = new Map<string, Charge[]>();
  for (const charge of charges) groups.set(charge.bucket, [...(groups.get(charge.bucket) ?? []), charge]);
  return [...groups.values()];
}
