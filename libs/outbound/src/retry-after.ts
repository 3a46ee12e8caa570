/**
 * Reads a `Retry-After` header, in seconds or as an HTTP date.
 * @returns milliseconds from now, at least 0; null without a valid header
 */
export function readRetryAfterMs(header: string | string[] | undefined, nowMs: number): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!text) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : httpDate(text) - nowMs;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Requires the weekday of an HTTP date, since `Date.parse` accepts many other texts. */
const httpDate = (text: string): number => (/^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN);
