import { equalInConstantTime } from '@rmm/secrets';
import { getHeader, type WithHeaders } from './http-request.js';
import { CsrfRejected } from './session.errors.js';

const CSRF_HEADER = 'x-service-csrf';
const ALLOWED_SITES = ['same-origin', 'same-site'];

/**
 * Checks a request that the refresh cookie authenticates: its origin must be allowed and its header must repeat the CSRF
 * cookie. A client that is no browser (neither `Origin` nor `Sec-Fetch-Site`) and has no CSRF cookie sends the literal
 * `1`.
 * @throws CsrfRejected  before anything is changed
 * @see docs/reference/authentication.md
 */
export function assertCsrfToken(
  request: WithHeaders,
  csrfCookie: string | undefined,
  origins: readonly string[],
): void {
  const origin = getHeader(request, 'origin');
  const site = getHeader(request, 'sec-fetch-site');
  const header = getHeader(request, CSRF_HEADER);
  if (origin !== undefined && !origins.includes(origin)) throw new CsrfRejected();
  if (site !== undefined && !ALLOWED_SITES.includes(site)) throw new CsrfRejected();
  if (header === undefined) throw new CsrfRejected();
  const isBrowser = origin !== undefined || site !== undefined;
  const expected = csrfCookie ?? (isBrowser ? undefined : '1');
  if (expected === undefined || !equalInConstantTime(header, expected)) throw new CsrfRejected();
}
