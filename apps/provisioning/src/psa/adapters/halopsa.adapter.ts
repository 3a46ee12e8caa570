import { PsaRefusedInput, type Authorize, type PsaHttp } from '../psa-http.js';
import { PsaCredentialsRejected } from '../psa.errors.js';
import { haloPages, MainSites } from './halopsa-lists.js';
import { credential, isRecord, PAGE_SIZE, query, type PsaAccess, type PsaAdapter } from './psa.adapter.js';

/** A token without a scope is issued, and refused by every route. */
const DEFAULT_SCOPE = 'read:customers';
/** Tokens that a header can have. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export const halopsa: PsaAdapter = {
  authorize: (access) => tokenOf(access),
  probe: async (http) => {
    await haloPages(http, 'Client').next();
    await haloPages(http, 'Site').next();
  },
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http, _access, maxPages) {
      const sites = new MainSites(http, maxPages);
      for await (const clients of haloPages(http, 'Client')) yield await sites.addTo(clients);
    },
    toCompany: (client) => {
      if (client['inactive'] === true) return null;
      const { mainSite } = client;
      return {
        externalId: client['id'],
        name: client['name'],
        site: client['main_site_name'],
        ...(isRecord(mainSite) && mainSite),
      };
    },
  },
};

/** Asks for a token once, and again when the PSA refuses the last one: tokens expire. */
function tokenOf(access: PsaAccess): Authorize {
  let headers: Record<string, string> | null = null;
  return async (http, renew) => {
    if (headers === null || renew) headers = { authorization: `Bearer ${await requestToken(http, access)}` };
    return headers;
  };
}

/** @throws PsaCredentialsRejected  also for status 400, which is the response to a wrong client or scope */
async function requestToken(http: PsaHttp, access: PsaAccess): Promise<string> {
  const { tenant, scope = DEFAULT_SCOPE } = access.credentials;
  const body = query({
    grant_type: 'client_credentials',
    client_id: credential(access, 'clientId'),
    client_secret: credential(access, 'clientSecret'),
    scope,
  });
  const url = `/auth/token${tenant === undefined ? '' : `?${query({ tenant })}`}`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  try {
    const { json } = await http.send({ url, method: 'POST', headers, body });
    const token = isRecord(json) ? json['access_token'] : undefined;
    if (typeof token === 'string' && TOKEN.test(token)) return token;
  } catch (error) {
    if (!(error instanceof PsaRefusedInput)) throw error;
  }
  throw new PsaCredentialsRejected('The PSA issued no token');
}
