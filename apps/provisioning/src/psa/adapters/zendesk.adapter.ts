import { PsaFailed } from '../psa.errors.js';
import {
  basic,
  credential,
  fixedHeaders,
  isRecord,
  linkedPages,
  PAGE_SIZE,
  query,
  recordOf,
  type PsaAdapter,
  type RawRecord,
} from './psa.adapter.js';

const PATH = '/api/v2/organizations.json';
/** Pages by number are refused beyond this many organizations; pages by cursor have no limit. */
const MAX_NUMBERED = 10_000;

export const zendesk: PsaAdapter = {
  authorize: (access) => fixedHeaders(basic(`${credential(access, 'email')}/token`, credential(access, 'apiToken'))),
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      const read = async (search: Record<string, number>) =>
        recordOf((await http.getJson(`${PATH}?${query(search)}`)).json);
      const first = await read({ per_page: PAGE_SIZE });
      const isNumbered = !(Number(first['count']) > MAX_NUMBERED);
      if (isNumbered) yield* linkedPages(http, first, 'organizations', (page) => page['next_page']);
      else yield* linkedPages(http, await read({ 'page[size]': PAGE_SIZE }), 'organizations', nextByCursor);
    },
    toCompany: ({ id, name }) => ({ externalId: id, name }),
  },
};

/** Returns the link to the next page, null after the last one. @throws PsaFailed */
function nextByCursor({ meta, links }: RawRecord): unknown {
  if (!isRecord(meta) || meta['has_more'] !== true) return null;
  const next = isRecord(links) ? links['next'] : undefined;
  if (typeof next !== 'string' || next === '') throw new PsaFailed('The PSA promises a page and sends no link to it');
  return next;
}
