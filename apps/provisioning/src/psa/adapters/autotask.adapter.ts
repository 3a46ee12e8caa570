import { PsaPathUnknown, type PsaHttp } from '../psa-http.js';
import {
  credential,
  fixedHeaders,
  isRecord,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  repeatedPage,
  type PsaAdapter,
} from './psa-adapter.js';

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
      let first;
      try {
        first = await http.getJson(`/v1.0/Companies?${query({ $top: PAGE_SIZE, $filter: 'isActive eq true' })}`);
      } catch (error) {
        if (!(error instanceof PsaPathUnknown)) throw error;
      }
      if (first === undefined) yield* pagesById(http);
      else yield* linkedPages(http, recordOf(first.json));
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
            },
            contact: { phone: company['phone'] },
          },
  },
};

/** Follows `pageDetails.nextPageUrl`, on the stored origin only. */
async function* linkedPages(http: PsaHttp, first: Readonly<Record<string, unknown>>) {
  const seen = new Set<string>();
  let page = first;
  for (;;) {
    yield listOf(page['items']);
    const details = page['pageDetails'];
    const next = isRecord(details) ? details['nextPageUrl'] : null;
    if (typeof next !== 'string' || next === '') return;
    const address = http.link(next);
    if (seen.has(address)) throw repeatedPage();
    seen.add(address);
    page = recordOf((await http.getJson(address)).json);
  }
}

/** Reads the companies after the last id. Addresses of pages then need no body, and stay below the limit of the server. */
async function* pagesById(http: PsaHttp) {
  let last = 0;
  for (;;) {
    const filter = [
      { op: 'eq', field: 'isActive', value: true },
      { op: 'gt', field: 'id', value: last },
    ];
    const search = JSON.stringify({ MaxRecords: PAGE_SIZE, Filter: filter });
    const { json } = await http.getJson(`/v1.0/Companies/query?${query({ search })}`);
    const items = listOf(recordOf(json)['items']);
    if (items.length === 0) return;
    yield items;
    last = Math.max(last, ...items.map((item) => (isRecord(item) ? Number(item['id']) || 0 : 0)));
  }
}
