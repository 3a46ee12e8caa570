import type { PsaHttp } from '../psa-http.js';
import {
  assertPageSize,
  isRecord,
  ListingPagesSpent,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  repeatedPage,
  type RawCompany,
  type RawRecord,
} from './psa.adapter.js';

const LISTS = { Client: 'clients', Site: 'sites' } as const;
/** Sites that may be read for each client that may be read. */
const SITES_PER_CLIENT = 4;
/** Texts of sites are kept until their client is read; a longer one is cut. */
const MAX_TEXT = 255;

/** Yields the pages of a list of HaloPSA, by id, active rows only. */
export async function* haloPages(http: PsaHttp, route: keyof typeof LISTS): AsyncGenerator<readonly unknown[]> {
  let received = 0;
  for (let page = 1; ; page += 1) {
    const search = {
      pageinate: 'true', // the spelling of the API
      page_size: PAGE_SIZE,
      page_no: page,
      includeinactive: 'false',
      order: 'id',
      ...(route === 'Site' && { includeaddress: 'true' }),
    };
    const listed = recordOf((await http.getJson(`/api/${route}?${query(search)}`)).json);
    const rows = listOf(listed[LISTS[route]]);
    if (rows.length === 0) return;
    yield rows;
    received += rows.length;
    // The server may send fewer than asked, so the count says when the list ends.
    if (received >= Number(listed['record_count'])) return;
  }
}

type Details = Pick<RawCompany, 'address' | 'contact' | 'timezone'>;

/**
 * Adds the details of their main sites to clients. Sites are a list of their own, read by id as clients are, and only as
 * far as the clients need: the sites of clients that are not read yet are kept, and no others.
 */
export class MainSites {
  private readonly pages: AsyncGenerator<readonly unknown[]>;
  private readonly firstIds = new Set<unknown>();
  private readonly addedTo = new Set<unknown>();
  /** By the id of the client, then of the site. */
  private readonly unclaimed = new Map<unknown, Map<unknown, Details>>();
  private left: number;
  private isComplete = false;

  constructor(http: PsaHttp, maxClientPages: number) {
    this.pages = haloPages(http, 'Site');
    this.left = maxClientPages * SITES_PER_CLIENT * PAGE_SIZE;
  }

  /** Returns clients with `mainSite`, undefined where the PSA lists none. @throws ListingPagesSpent, PsaFailed */
  async addTo(clients: readonly unknown[]): Promise<readonly unknown[]> {
    const given = clients.filter(isRecord);
    for (const client of given) {
      while (!this.isComplete && hasMainSite(client) && !this.find(client)) await this.readPage();
    }
    const added = clients.map((client) => (isRecord(client) ? { ...client, mainSite: this.find(client) } : client));
    for (const { id } of given) {
      this.addedTo.add(id);
      this.unclaimed.delete(id);
    }
    return added;
  }

  private find(client: RawRecord): Details | undefined {
    return this.unclaimed.get(client['id'])?.get(client['main_site_id']);
  }

  private async readPage(): Promise<void> {
    const result = await this.pages.next();
    if (result.done === true) {
      this.isComplete = true;
      return;
    }
    const sites = result.value;
    assertPageSize(sites);
    if (this.left <= 0) throw new ListingPagesSpent();
    this.left -= Math.max(sites.length, PAGE_SIZE);
    const [first] = sites;
    if (isRecord(first) && this.firstIds.has(first['id'])) throw repeatedPage();
    if (isRecord(first)) this.firstIds.add(first['id']);
    for (const site of sites) if (isRecord(site)) this.keepSite(site);
  }

  private keepSite(site: RawRecord): void {
    const clientId = site['client_id'];
    if (this.addedTo.has(clientId) || site['inactive'] === true) return;
    const ofClient = this.unclaimed.get(clientId) ?? new Map<unknown, Details>();
    this.unclaimed.set(clientId, ofClient.set(site['id'], toDetails(site)));
  }
}

/** Ids are numbers from 1. */
const hasMainSite = ({ main_site_id: id }: RawRecord): boolean => typeof id === 'number' && id > 0;

const toDetails = (site: RawRecord): Details => {
  const text = (name: string): unknown => shortened(site[name]);
  return {
    address: {
      line1: text('delivery_address_line1'),
      line2: text('delivery_address_line2'),
      city: text('delivery_address_line3'),
      region: text('delivery_address_line4'),
      postalCode: text('delivery_address_line5'),
      country: text('country_code_name'),
    },
    contact: { phone: text('phonenumber') },
    timezone: text('timezone'),
  };
};

/** Returns a text that does not keep the whole one in memory, as a slice of it would. */
function shortened(value: unknown): unknown {
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
  return value.length > MAX_TEXT ? Buffer.from(value.slice(0, MAX_TEXT), 'utf16le').toString('utf16le') : value;
}
