import { PsaPathUnknown, type PsaHttp } from '../psa-http.js';
import {
  credential,
  fixedHeaders,
  isRecord,
  linkedPages,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  type PsaAdapter,
  type RawRecord,
} from './psa.adapter.js';

/** Ids of one look-up, so that its address stays below the limit of the server. */
const COUNTRIES_AT_ONCE = 50;

/** The base URL names the zone: `https://webservices5.autotask.net/ATServicesRest`. */
export const autotask: PsaAdapter = {
  authorize: (access) =>
    fixedHeaders({
      UserName: credential(access, 'username'),
      Secret: credential(access, 'secret'),
      ApiIntegrationCode: credential(access, 'integrationCode'),
    }),
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      const countries = new Countries(http);
      for await (const page of companyPages(http)) yield await countries.addTo(page);
    },
    toCompany: (company) =>
      company['isActive'] === false
        ? null
        : {
            externalId: company['id'],
            name: company['companyName'],
            address: {
              line1: company['address1'],
              line2: company['address2'],
              city: company['city'],
              region: company['state'],
              postalCode: company['postalCode'],
              country: company['country'],
            },
            contact: { phone: company['phone'] },
          },
  },
};

async function* companyPages(http: PsaHttp): AsyncGenerator<readonly unknown[]> {
  const path = `/v1.0/Companies?${query({ $top: PAGE_SIZE, $filter: 'isActive eq true' })}`;
  const first = await orUnknown(http.getJson(path));
  if (first === null) yield* pagesById(http);
  else yield* linkedPages(http, recordOf(first.json), 'items', nextPageUrl);
}

const nextPageUrl = ({ pageDetails }: RawRecord): unknown =>
  isRecord(pageDetails) ? pageDetails['nextPageUrl'] : null;

/** Reads the companies after the last id. Addresses of pages then need no body, and stay below the limit of the server. */
async function* pagesById(http: PsaHttp) {
  let last = 0;
  for (;;) {
    const filter = [
      { op: 'eq', field: 'isActive', value: true },
      { op: 'gt', field: 'id', value: last },
    ];
    const items = await queryItems(http, 'Companies', filter);
    if (items.length === 0) return;
    yield items;
    last = Math.max(last, ...items.map((item) => (isRecord(item) ? Number(item['id']) || 0 : 0)));
  }
}

/** Looks up the names of countries: a company has the id only. */
class Countries {
  private readonly names = new Map<unknown, unknown>();

  constructor(private readonly http: PsaHttp) {}

  /** Returns companies with the name of their country. */
  async addTo(companies: readonly unknown[]): Promise<readonly unknown[]> {
    const ids = companies.map((company) => (isRecord(company) ? company['countryID'] : null));
    const missing = new Set(ids.filter((id) => Number.isSafeInteger(id) && !this.names.has(id)));
    for (const some of chunksOf([...missing], COUNTRIES_AT_ONCE)) await this.read(some);
    return companies.map((company, index) =>
      isRecord(company) ? { country: this.names.get(ids[index]), ...company } : company,
    );
  }

  private async read(ids: readonly unknown[]): Promise<void> {
    for (const id of ids) this.names.set(id, undefined); // is not asked for again
    const filter = [{ op: 'in', field: 'id', value: ids }];
    for (const country of (await orUnknown(queryItems(this.http, 'Countries', filter))) ?? []) {
      if (isRecord(country)) this.names.set(country['id'], country['displayName'] ?? country['name']);
    }
  }
}

async function queryItems(http: PsaHttp, entity: string, filter: object[]): Promise<readonly unknown[]> {
  const search = JSON.stringify({ MaxRecords: PAGE_SIZE, Filter: filter });
  const { json } = await http.getJson(`/v1.0/${entity}/query?${query({ search })}`);
  return listOf(recordOf(json)['items']);
}

/** Returns null when the PSA does not know the path. */
async function orUnknown<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof PsaPathUnknown) return null;
    throw error;
  }
}

const chunksOf = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
