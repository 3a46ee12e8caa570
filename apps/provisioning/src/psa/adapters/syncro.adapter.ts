import {
  credential,
  fixedHeaders,
  listOf,
  query,
  recordOf,
  type PsaAdapter,
  type RawCompany,
  type RawRecord,
} from './psa.adapter.js';

/** Pages have 25 or 100 customers, whatever is asked: only the number of pages says when the list ends. */
export const syncro: PsaAdapter = {
  authorize: (access) => fixedHeaders({ authorization: `Bearer ${credential(access, 'apiToken')}` }),
  companies: {
    smallestPage: 25,
    async *pages(http) {
      for (let page = 1; ; page += 1) {
        const search = { page, sort: 'id ASC', include_disabled: 'false' };
        const customerPage = recordOf((await http.getJson(`/api/v1/customers?${query(search)}`)).json);
        const customers = listOf(customerPage['customers']);
        const pages = Number(recordOf(customerPage['meta'])['total_pages']);
        if (customers.length === 0) return;
        yield customers;
        if (page >= pages) return;
      }
    },
    toCompany: (customer) => (customer['disabled'] === true ? null : toCompany(customer)),
  },
};

const toCompany = (customer: RawRecord): RawCompany => ({
  externalId: customer['id'],
  // A private customer has no business name.
  name: firstText(customer['business_name'], customer['business_then_name'], customer['fullname']),
  address: {
    line1: customer['address'],
    line2: customer['address_2'],
    city: customer['city'],
    region: customer['state'],
    postalCode: customer['zip'],
  },
  contact: {
    name: [customer['firstname'], customer['lastname']].filter((part) => typeof part === 'string').join(' '),
    email: customer['email'],
    phone: firstText(customer['phone'], customer['mobile']),
  },
});

const firstText = (...values: unknown[]): unknown =>
  values.find((value) => typeof value === 'string' && value.trim() !== '');
