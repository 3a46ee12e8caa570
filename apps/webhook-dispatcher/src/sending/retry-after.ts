/**
 * What a receiver asks for with `Retry-After`, in seconds or as an HTTP date.
 * @returns milliseconds from now, never negative and never over the cap; null when there is nothing to honor
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

/** `Date.parse` takes far too much: a date begins with its day. */
const httpDate = (text: string): number => (/^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN);
