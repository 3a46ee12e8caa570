import { readRetryAfterMs } from '@rmm/outbound';

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
const MAX_TOTAL_MS = 7 * 86_400_000;
/** The longest attempt. */
const ATTEMPT_MS = 30_000;

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
 * stops a delivery; retries later than seven days after the event are left out.
 */
export function readRetryPolicy(stored: unknown): RetryPolicy {
  if (typeof stored !== 'object' || stored === null) return DEFAULT_RETRY_POLICY;
  const given = stored as Partial<Record<keyof RetryPolicy, unknown>>;
  const pick = (name: keyof RetryPolicy, min: number, max: number) => {
    const value = given[name];
    return typeof value === 'number' && value >= min && value <= max ? value : DEFAULT_RETRY_POLICY[name];
  };
  const policy = {
    maxRetries: Math.floor(pick('maxRetries', 0, MAX_RETRIES)),
    initialDelayMs: pick('initialDelayMs', 0, 86_400_000),
    backoffMultiplier: pick('backoffMultiplier', 1, 100),
    maxDelayMs: pick('maxDelayMs', 0, 86_400_000),
  };
  return { ...policy, maxRetries: countWithin(MAX_TOTAL_MS, policy) };
}

/** Returns how many retries of a policy end within some time after the event. */
function countWithin(totalMs: number, policy: RetryPolicy): number {
  let endMs = ATTEMPT_MS;
  for (let retry = 0; ; retry += 1) {
    const delayMs = retryDelayMs(policy, retry);
    if (delayMs === null) return retry;
    endMs += delayMs + ATTEMPT_MS;
    if (endMs > totalMs) return retry;
  }
}

/** Returns how many attempts a new delivery of a webhook may take. */
export const maxAttemptsOf = ({ retryPolicy }: { retryPolicy: unknown }): number =>
  readRetryPolicy(retryPolicy).maxRetries + 1;

/**
 * Reads how long the `Retry-After` header of a 429 or 503 asks to wait, at most the cap.
 * @returns milliseconds from now; null without a valid header
 */
export function requestedPauseMs(
  status: number,
  header: string | string[] | undefined,
  nowMs: number,
  capSeconds: number,
): number | null {
  if (status !== 429 && status !== 503) return null;
  const ms = readRetryAfterMs(header, nowMs);
  return ms === null ? null : Math.min(ms, capSeconds * 1_000);
}
