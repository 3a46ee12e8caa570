import { PsaPathUnknown } from '../psa-http.js';
import { basic, credential, fixedHeaders, listOf, PAGE_SIZE, query, recordOf, type PsaAdapter } from './psa.adapter.js';

/** Editions for MSPs have companies; the others call them departments. */
const LISTS = ['companies', 'departments'] as const;

export const freshservice: PsaAdapter = {
  // The password is not checked.
  authorize: (access) => fixedHeaders(basic(credential(access, 'apiKey'), 'X')),
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      let list: (typeof LISTS)[number] = LISTS[0];
      for (let page = 1; ;) {
        try {
          const { json } = await http.getJson(`/api/v2/${list}?${query({ per_page: PAGE_SIZE, page })}`);
          const rows = Array.isArray(json) ? (json as unknown[]) : listOf(recordOf(json)[list]);
          if (rows.length === 0) return;
          yield rows;
          page += 1;
        } catch (error) {
          if (!(error instanceof PsaPathUnknown) || page > 1 || list === LISTS[1]) throw error;
          list = LISTS[1];
        }
      }
    },
    toCompany: ({ id, name }) => ({ externalId: id, name }),
  },
};
