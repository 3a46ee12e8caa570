import type { Authorize, PsaHttp } from '../psa-http.js';
import type { PsaCredentials } from '../psa-providers.constants.js';
import { PsaFailed } from '../psa.errors.js';
import { PSA_LIMITS } from '../psa.limits.js';

/** The credentials and settings that requests of a connection need. */
export interface PsaAccess {
  credentials: PsaCredentials;
  settings: Readonly<Record<string, unknown>>;
}

export type RawRecord = Readonly<Record<string, unknown>>;

/** A company as a provider describes it: texts as received, of any length. */
export interface RawCompany {
  externalId: unknown;
  name: unknown;
  site?: unknown;
  address?: {
    line1?: unknown;
    line2?: unknown;
    city?: unknown;
    region?: unknown;
    postalCode?: unknown;
    country?: unknown;
  };
  contact?: { name?: unknown; email?: unknown; phone?: unknown };
  /** A name of IANA or Windows, or a label. */
  timezone?: unknown;
}

/** Speaks the API of one provider. */
export interface PsaAdapter {
  authorize(access: PsaAccess): Authorize;
  /** Sends requests that fail without access; absent where reading the first page says it. */
  probe?(http: PsaHttp): Promise<void>;
  /** Absent for a provider without companies. */
  companies?: CompanyListing;
}

export interface CompanyListing {
  /** The fewest companies that a page has: the number of pages that may be read follows it. */
  smallestPage: number;
  /** True where a page may repeat companies of earlier ones, because the list changes or hides rows. */
  pagesOverlap?: true;
  /**
   * Yields one page after the other, until the provider says that there are no more.
   * @param maxPages  pages that may be read; a provider with further lists reads those in proportion to it
   */
  pages(http: PsaHttp, access: PsaAccess, maxPages: number): AsyncGenerator<readonly unknown[]>;
  /** Returns null for a company that is not in use. */
  toCompany(record: RawRecord): RawCompany | null;
}

export const PAGE_SIZE = 100;

export const basic = (user: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`,
});

/** Returns an authorizer whose headers never change: there is nothing to renew. */
export const fixedHeaders =
  (headers: Record<string, string>): Authorize =>
  (_http, renew) =>
    renew ? {} : headers;

/** Returns the required credential. */
export const credential = ({ credentials }: PsaAccess, name: string): string => credentials[name] ?? '';

export const isRecord = (value: unknown): value is RawRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a list of a response. @throws PsaFailed  when it is none */
export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new PsaFailed('The response of the PSA is not a list of companies');
  return value as unknown[];
}

/** @throws PsaFailed  for a page that has more rows than are allowed */
export function assertPageSize(page: readonly unknown[]): void {
  if (page.length > PSA_LIMITS.pageRows) throw new PsaFailed('The PSA sent a page with too many rows');
}

/** Returns an object of a response. @throws PsaFailed  when it is none */
export function recordOf(value: unknown): RawRecord {
  if (!isRecord(value)) throw new PsaFailed('The response of the PSA is not a list of companies');
  return value;
}

/** A further list has more pages than may be read; what was listed so far is shown. */
export class ListingPagesSpent extends Error {
  override readonly name = 'ListingPagesSpent';
}

/** Yields a page and those that it links to, on the stored origin only. @param nextOf  returns the link to the next page */
export async function* linkedPages(
  http: PsaHttp,
  first: RawRecord,
  list: string,
  nextOf: (page: RawRecord) => unknown,
): AsyncGenerator<readonly unknown[]> {
  const seen = new Set<string>();
  let page = first;
  for (;;) {
    yield listOf(page[list]);
    const next = nextOf(page);
    if (typeof next !== 'string' || next === '') return;
    const address = http.link(next);
    if (seen.has(address)) throw repeatedPage();
    seen.add(address);
    page = recordOf((await http.getJson(address)).json);
  }
}

/** The PSA links to a page that was read before. */
export const repeatedPage = (): PsaFailed => new PsaFailed('The PSA repeats a page');

/** Returns the name of a reference: `{ id, name }`. */
export const nameOf = (value: unknown): unknown => (isRecord(value) ? value['name'] : undefined);

export const query = (values: Record<string, string | number>): string =>
  Object.entries(values)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
