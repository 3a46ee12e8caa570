import {
  basic,
  credential,
  fixedHeaders,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  repeatedPage,
  type PsaAdapter,
} from './psa-adapter.js';

export const zendesk: PsaAdapter = {
  authorize: (access) => fixedHeaders(basic(`${credential(access, 'email')}/token`, credential(access, 'apiToken'))),
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      let address = `/api/v2/organizations.json?${query({ per_page: PAGE_SIZE })}`;
      const seen = new Set<string>();
      for (;;) {
        const page = recordOf((await http.getJson(address)).json);
        yield listOf(page['organizations']);
        const next = page['next_page'];
        if (typeof next !== 'string' || next === '') return;
        address = http.link(next);
        if (seen.has(address)) throw repeatedPage();
        seen.add(address);
      }
    },
    toCompany: ({ id, name }) => ({ externalId: id, name }),
  },
};
