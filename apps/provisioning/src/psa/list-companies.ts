import { forEachYielding } from '@rmm/service-kit';
import {
  assertPageSize,
  isRecord,
  ListingPagesSpent,
  repeatedPage,
  type CompanyListing,
  type PsaAccess,
} from './adapters/psa.adapter.js';
import { toCompanyRow, type CompanyRow, type ReadCompany } from './company-row.mapper.js';
import { ListingTimeSpent, type PsaHttp } from './psa-http.js';
import type { PsaProvider } from './psa-providers.constants.js';

/** The reasons to end a listing before the provider said that there are no more companies. */
export const TRUNCATION_REASONS = ['cap', 'time-budget', 'page-guard'] as const;
export type TruncationReason = (typeof TRUNCATION_REASONS)[number];

export interface ListedCompanies {
  /** New companies, in the order of the provider. */
  rows: CompanyRow[];
  /** The time zones that are not known, by the index of the row. */
  unknownTimezones: { index: number; timezone: string }[];
  /** Null when every company was read. */
  truncationReason: TruncationReason | null;
  /** Companies that were read, each counted once. */
  fetched: number;
  /** Companies that are known: linked to an organization. */
  alreadyLinked: number;
  /** Companies without a usable id or name. */
  malformed: number;
}

export interface ListingRequest {
  provider: PsaProvider;
  listing: CompanyListing;
  access: PsaAccess;
  http: PsaHttp;
  limits: ListingLimits;
  /** Returns the external ids of those companies of a page that are known, and therefore not listed. */
  findKnown: (companies: readonly CompanyRow[]) => Promise<ReadonlySet<string>>;
}

export interface ListingLimits {
  /** New companies that are listed. */
  companies: number;
  /** Companies that are read, new or known. */
  listed: number;
}

/**
 * Reads the companies of a PSA, page by page. Known ones are dropped before they are counted, so that preview and import
 * in turn get through a list of any length; one company more than the limit is read, so that a list of just that length is complete.
 * @throws PsaRequestRefused, PsaFailed
 */
export async function listCompanies(request: ListingRequest): Promise<ListedCompanies> {
  const lister = new CompanyLister(request);
  try {
    return lister.end(await lister.run());
  } catch (error) {
    if (error instanceof ListingTimeSpent) return lister.end('time-budget');
    if (error instanceof ListingPagesSpent) return lister.end('page-guard');
    throw error;
  }
}

class CompanyLister {
  private readonly seen = new Set<string>();
  private readonly result: ListedCompanies = {
    rows: [],
    unknownTimezones: [],
    truncationReason: null,
    fetched: 0,
    alreadyLinked: 0,
    malformed: 0,
  };

  constructor(private readonly request: ListingRequest) {}

  async run(): Promise<TruncationReason | null> {
    const { listing, http, access, limits } = this.request;
    const maxPages = Math.ceil(limits.listed / listing.smallestPage);
    let pages = 0;
    for await (const page of listing.pages(http, access, maxPages)) {
      assertPageSize(page);
      // Known only now, so that a list of just that many pages is complete.
      if (pages >= maxPages) return 'page-guard';
      pages += 1;
      if (await this.addPage(page)) return 'cap';
    }
    return null;
  }

  end(truncationReason: TruncationReason | null): ListedCompanies {
    return { ...this.result, truncationReason };
  }

  /** @returns true when there are more new companies than the limit */
  private async addPage(page: readonly unknown[]): Promise<boolean> {
    const companies = await this.readPage(page);
    const unseen = companies.filter((company) => company === null || !this.seen.has(company.row.externalId));
    // A page that repeats companies only is a cursor that does not move; the listing would never end.
    if (companies.length > 0 && unseen.length === 0 && !this.request.listing.pagesOverlap) throw repeatedPage();
    const rows = unseen.flatMap((company) => (company ? [company.row] : []));
    const known = rows.length === 0 ? new Set<string>() : await this.request.findKnown(rows);
    return !unseen.every((company) => this.add(company, known));
  }

  private async readPage(page: readonly unknown[]): Promise<(ReadCompany | null)[]> {
    const { provider, listing } = this.request;
    const companies: (ReadCompany | null)[] = [];
    await forEachYielding(page, (item) => {
      const company = isRecord(item) ? listing.toCompany(item) : { externalId: null, name: null };
      if (company !== null) companies.push(toCompanyRow(provider, company));
    });
    return companies;
  }

  /** @returns false for a new company beyond the limit */
  private add(company: ReadCompany | null, known: ReadonlySet<string>): boolean {
    const { result } = this;
    if (company === null) {
      result.fetched += 1;
      result.malformed += 1;
      return true;
    }
    const { row, unknownTimezone } = company;
    if (this.seen.has(row.externalId)) return true;
    const isKnown = known.has(row.externalId);
    if (!isKnown && result.rows.length >= this.request.limits.companies) return false;
    this.seen.add(row.externalId);
    result.fetched += 1;
    if (isKnown) {
      result.alreadyLinked += 1;
      return true;
    }
    if (unknownTimezone !== null)
      result.unknownTimezones.push({ index: result.rows.length, timezone: unknownTimezone });
    result.rows.push(row);
    return true;
  }
}
