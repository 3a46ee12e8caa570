/** The retry policy of a webhook, in milliseconds where a time is meant. @see SPEC.md, section 8 */
export interface RetryPolicy {
  maxRetries: number;
  initialDelayMs: number;
  backoffMultiplier: number;
  maxDelayMs: number;
}

export const DEFAULT_RETRY_POLICY: Readonly<RetryPolicy> = Object.freeze({
  maxRetries: 5,
  initialDelayMs: 1_000,
  backoffMultiplier: 2,
  maxDelayMs: 300_000,
});

/** More than any override may ask for: a delivery must end inside the time its row is kept. */
const MAX_RETRIES = 100;

/**
 * The wait before a retry.
 * @param retry  counts from 0
 * @returns milliseconds: min(initialDelayMs * backoffMultiplier^retry, maxDelayMs); 1, 2, 4, 8, 16 s by default.
 *   Null when the retries are used up
 * @see SPEC.md, section 8
 */
export function retryDelayMs(policy: RetryPolicy, retry: number): number | null {
  if (retry >= policy.maxRetries) return null;
  return Math.min(policy.initialDelayMs * policy.backoffMultiplier ** retry, policy.maxDelayMs);
}

/**
 * Reads a stored override, which only direct data access writes: each field that makes no sense falls back to its
 * default, so that a slip in one row never stops a delivery.
 */
export function readRetryPolicy(stored: unknown): RetryPolicy {
  if (typeof stored !== 'object' || stored === null) return DEFAULT_RETRY_POLICY;
  const given = stored as Partial<Record<keyof RetryPolicy, unknown>>;
  const pick = (name: keyof RetryPolicy, min: number, max: number) => {
    const value = given[name];
    return typeof value === 'number' && value >= min && value <= max ? value : DEFAULT_RETRY_POLICY[name];
  };
  return {
    maxRetries: Math.floor(pick('maxRetries', 0, MAX_RETRIES)),
    initialDelayMs: pick('initialDelayMs', 0, 86_400_000),
    backoffMultiplier: pick('backoffMultiplier', 1, 100),
    maxDelayMs: pick('maxDelayMs', 0, 86_400_000),
  };
}
