import { ForbiddenError } from '@rmm/service-kit';
import { equalInConstantTime } from '@rmm/secrets';
import { headerOf, type WithHeaders } from './http.js';

export class CsrfRejected extends ForbiddenError {
  override code = 'csrf_rejected';
  override error = 'CSRF check failed';
}

const CSRF_HEADER = 'x-service-csrf';
const FRIENDLY_SITES = ['same-origin', 'same-site'];

/**
 * For calls that the refresh cookie authenticates: the origin must be ours and the header must repeat the CSRF cookie.
 * A client that is no browser (neither `Origin` nor `Sec-Fetch-Site`) and has no CSRF cookie sends the literal `1`.
 * @throws CsrfRejected  before anything was changed
 * @see CONTRACT.md 2.6
 */
export function assertNoForgery(
  request: WithHeaders,
  csrfCookie: string | undefined,
  origins: readonly string[],
): void {
  const origin = headerOf(request, 'origin');
  const site = headerOf(request, 'sec-fetch-site');
  const header = headerOf(request, CSRF_HEADER);
  if (origin !== undefined && !origins.includes(origin)) throw new CsrfRejected();
  if (site !== undefined && !FRIENDLY_SITES.includes(site)) throw new CsrfRejected();
  if (header === undefined) throw new CsrfRejected();
  const isBrowser = origin !== undefined || site !== undefined;
  const expected = csrfCookie ?? (isBrowser ? undefined : '1');
  if (expected === undefined || !equalInConstantTime(header, expected)) throw new CsrfRejected();
}
