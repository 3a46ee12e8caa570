/** When failed attempts of a webhook are repeated; delays in milliseconds. @see docs/reference/webhooks.md */
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

/** Limits overrides, since a delivery must end before its row is deleted. */
const MAX_RETRIES = 100;

/**
 * Returns the delay before a retry in milliseconds: min(initialDelayMs * backoffMultiplier^retry, maxDelayMs), which is
 * 1, 2, 4, 8, 16 s by default; null when the retries are used up.
 * @param retry  counts from 0
 */
export function retryDelayMs(policy: RetryPolicy, retry: number): number | null {
  if (retry >= policy.maxRetries) return null;
  return Math.min(policy.initialDelayMs * policy.backoffMultiplier ** retry, policy.maxDelayMs);
}

/**
 * Reads a stored override, which the API cannot set. A field out of range gets its default, so that a wrong row never
 * stops a delivery.
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

/** Returns how many attempts a new delivery of a webhook may take. */
export const maxAttemptsOf = ({ retryPolicy }: { retryPolicy: unknown }): number =>
  readRetryPolicy(retryPolicy).maxRetries + 1;
