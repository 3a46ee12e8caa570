/**
 * Reads the `Retry-After` header of a 429 or 503, in seconds or as an HTTP date.
 * @returns milliseconds from now, between 0 and the cap; null without a valid header
 */
export function retryAfterMs(
  status: number,
  header: string | string[] | undefined,
  nowMs: number,
  capSeconds: number,
): number | null {
  if (status !== 429 && status !== 503) return null;
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!text) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : httpDate(text) - nowMs;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), capSeconds * 1_000);
}

/** Requires the weekday of an HTTP date, since `Date.parse` accepts many other texts. */
const httpDate = (text: string): number => (/^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN);
