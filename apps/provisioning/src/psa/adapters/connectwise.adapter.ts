import { basic, credential, fixedHeaders, listOf, nameOf, PAGE_SIZE, query, type PsaAdapter } from './psa.adapter.js';

/** Later releases of the PSA go on sending the fields of this one. */
const ACCEPT = 'application/vnd.connectwise.com+json; version=2022.1';

/** The base URL names the version: `https://api-eu.myconnectwise.net/v4_6_release/apis/3.0`. */
export const connectwise: PsaAdapter = {
  authorize: (access) => {
    const { clientId } = access.credentials;
    const member = `${credential(access, 'companyId')}+${credential(access, 'publicKey')}`;
    const headers = { ...basic(member, credential(access, 'privateKey')), accept: ACCEPT };
    return fixedHeaders({ ...headers, ...(clientId && { clientId }) });
  },
  companies: {
    smallestPage: PAGE_SIZE,
    async *pages(http) {
      for (let page = 1; ; page += 1) {
        const search = { conditions: 'deletedFlag=false', orderBy: 'id asc', page, pageSize: PAGE_SIZE };
        const companies = listOf((await http.getJson(`/company/companies?${query(search)}`)).json);
        if (companies.length === 0) return;
        yield companies;
      }
    },
    toCompany: (company) => ({
      externalId: company['id'],
      name: company['name'],
      site: nameOf(company['site']),
      address: {
        line1: company['addressLine1'],
        line2: company['addressLine2'],
        city: company['city'],
        region: company['state'],
        postalCode: company['zip'],
        country: nameOf(company['country']),
      },
      contact: { name: nameOf(company['defaultContact']), phone: company['phoneNumber'] },
      timezone: nameOf(company['timeZoneSetup']),
    }),
  },
};
