import { PsaRefusedInput, type Authorize, type PsaHttp } from '../psa-http.js';
import { PsaCredentialsRejected } from '../psa.errors.js';
import {
  credential,
  isRecord,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  type PsaAccess,
  type PsaAdapter,
} from './psa-adapter.js';

/** A token without a scope is issued, and refused by every route. */
const DEFAULT_SCOPE = 'read:customers';
/** Tokens that a header can have. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export const halopsa: PsaAdapter = {
  authorize: (access) => tokenOf(access),
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      let received = 0;
      for (let page = 1; ; page += 1) {
        const search = {
          pageinate: 'true', // the spelling of the API
          page_size: PAGE_SIZE,
          page_no: page,
          includeinactive: 'false',
          order: 'id',
        };
        const clientPage = recordOf((await http.getJson(`/api/Client?${query(search)}`)).json);
        const clients = listOf(clientPage['clients']);
        if (clients.length === 0) return;
        yield clients;
        received += clients.length;
        // The server may send fewer than asked, so the count says when the list ends.
        if (received >= Number(clientPage['record_count'])) return;
      }
    },
    toCompany: (client) =>
      client['inactive'] === true
        ? null
        : {
            externalId: client['id'],
            name: client['name'],
            site: client['main_site_name'],
            contact: { phone: client['phonenumber'] },
            timezone: client['timezone'],
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
