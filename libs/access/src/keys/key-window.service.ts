import { type RedisConnections, UnavailableError } from '@rmm/service-kit';
import { KEY_WINDOW_SCRIPT, KEY_WINDOW_SCRIPT_SHA } from './key-window-script.js';

/** What a window says of one request. */
export interface WindowVerdict {
  admitted: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds: when the oldest counted request, or the one that stands in the way, leaves the window. */
  resetAtSeconds: number;
  /** Whole seconds until a request would be admitted; 0 when this one was. */
  retryAfterSeconds: number;
}

/** What windows are timed by beside the clock of Redis. */
export interface WindowClock {
  /** Added to the time of Redis, so that tests need not wait an hour. */
  readonly offsetSeconds: number;
}

export const WINDOW_SECONDS = 3_600;
/** Charges of one call: Redis serves nobody else meanwhile, for about half a millisecond. */
const MAX_BATCH = 64;

interface Charge {
  bucket: string;
  limit: number;
  settle: (verdict: WindowVerdict) => void;
  fail: (error: unknown) => void;
}

/**
 * The sliding hours of keys, shared by the whole fleet, counted by Redis' clock. Requests that arrive in one turn of
 * the event loop share one call to Redis and still get a verdict each; nobody waits for a later turn.
 */
export class KeyWindow {
  private waiting: Charge[] = [];

  constructor(
    private readonly redis: Pick<RedisConnections, 'shared'>,
    private readonly clock: WindowClock = { offsetSeconds: 0 },
  ) {}

  /**
   * Charges one request.
   * @param bucket  whose window: `api:<keyId>`
   * @param limit  requests in any hour
   * @throws UnavailableError  503 when the window cannot be read; never a pass
   */
  charge(bucket: string, limit: number): Promise<WindowVerdict> {
    return new Promise((settle, fail) => {
      if (this.waiting.push({ bucket, limit, settle, fail }) === 1) setImmediate(() => this.send());
    });
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
      charges.forEach(({ limit, settle }, index) => {
        const [admitted, remaining, resetAtSeconds, retryAfterSeconds] = numbers.slice(4 * index, 4 * index + 4);
        settle({ admitted: admitted === 1, limit, remaining, resetAtSeconds, retryAfterSeconds });
      });
    } catch (cause) {
      for (const { bucket, fail } of charges) {
        fail(new UnavailableError(undefined, { cause, logDetails: { window: bucket } }));
      }
    }
  }

  private async run(charges: readonly Charge[]): Promise<number[]> {
    const names = charges.flatMap(({ bucket }) => [
      `rmm:keys:window:{${bucket}}:cells`,
      `rmm:keys:window:{${bucket}}:total`,
    ]);
    const limits = charges.map(({ limit }) => limit);
    const rest = [names.length, ...names, WINDOW_SECONDS, this.clock.offsetSeconds, ...limits] as const;
    const redis = this.redis.shared;
    try {
      return (await redis.evalsha(KEY_WINDOW_SCRIPT_SHA, ...rest)) as number[];
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return (await redis.eval(KEY_WINDOW_SCRIPT, ...rest)) as number[];
    }
  }
}

/** One call to a cluster names keys of one slot. */
function byBucket(charges: readonly Charge[]): Charge[][] {
  const groups = new Map<string, Charge[]>();
  for (const charge of charges) groups.set(charge.bucket, [...(groups.get(charge.bucket) ?? []), charge]);
  return [...groups.values()];
}
