import type { FakeCompany, FakePsa, FakePsaRequest, FakePsaResponse } from './fake-psa.js';

export type FakeVendorName =
  'connectwise' | 'autotask' | 'servicenow' | 'freshservice' | 'zendesk' | 'halopsa' | 'syncro' | 'jira';

/** The wire format of one vendor: paths, credentials, paging, bodies of errors. */
export interface FakeVendor {
  basePath: string;
  /** The credentials of a connection besides `baseUrl`. */
  credentials: Record<string, string>;
  respond(fake: FakePsa, request: FakePsaRequest): FakePsaResponse;
}

const basicOf = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const numberOf = (query: URLSearchParams, name: string, byDefault: number) => Number(query.get(name) ?? byDefault);
const pageOf = <T>(items: readonly T[], page: number, size: number) => items.slice((page - 1) * size, page * size);

/** Registered for each integration; requests without one are refused. */
const CLIENT_ID = '3f1c6f0e-7f0b-4a55-9d6e-2f6b1c1f0a11';

const connectwise: FakeVendor = {
  basePath: '/v4_6_release/apis/3.0',
  credentials: { companyId: 'acme', publicKey: 'public', privateKey: 'private-secret', clientId: CLIENT_ID },
  respond: ({ companies }, { path, query, headers }) => {
    const isKnown = headers['clientid'] === CLIENT_ID;
    if (!isKnown || headers.authorization !== basicOf('acme+public', 'private-secret')) {
      return { status: 401, json: { code: 'Unauthorized', message: 'Unauthorized', errors: [] } };
    }
    if (path !== '/v4_6_release/apis/3.0/company/companies') {
      return { status: 404, json: { code: 'NotFound', message: 'NotFound', errors: [] } };
    }
    const visible = companies.filter(
      ({ fields }) => query.get('conditions') !== 'deletedFlag=false' || fields?.['deletedFlag'] !== true,
    );
    // The default is 25, which clients that name no size mistake for the end of the list.
    const size = Math.min(1_000, numberOf(query, 'pageSize', 25));
    return { json: pageOf(visible, numberOf(query, 'page', 1), size).map(toConnectwise) };
  },
};

const toConnectwise = ({ id, name, fields }: FakeCompany) => ({
  id,
  identifier: String(id),
  name,
  addressLine1: '1 Main Street',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
  country: { id: 1, name: 'United States' },
  phoneNumber: '+1 217 555 0100',
  defaultContact: { id: 7, name: 'Kim Contact' },
  site: { id: 3, name: 'Main Office' },
  timeZoneSetup: { id: 1, name: 'Central Standard Time' },
  deletedFlag: false,
  ...fields,
});

const COUNTRIES = [
  { id: 237, countryCode: 'US', name: 'United States', displayName: 'United States' },
  { id: 14, countryCode: 'AT', name: 'Austria', displayName: 'Österreich' },
];

interface AutotaskSearch {
  MaxRecords?: number;
  Filter: { op: string; field: string; value: unknown }[];
}

/** The zone that the contract of this service names, or with `otherEdition` the query of the vendor alone. */
const autotask: FakeVendor = {
  basePath: '/ATServicesRest',
  credentials: { username: 'api@acme.example', secret: 'autotask-secret', integrationCode: 'CODE' },
  respond: (fake, request) => {
    const { path, query, headers, method } = request;
    const { username, secret, apiintegrationcode } = headers;
    if (username !== 'api@acme.example' || secret !== 'autotask-secret' || apiintegrationcode !== 'CODE') {
      return { status: 401, json: { errors: ['Invalid credentials'] } };
    }
    const { defects } = fake;
    const route = path.toLowerCase();
    if (query.toString().length > 2_000) return { status: 404, json: { errors: [] } };
    if (route === '/atservicesrest/v1.0/countries/query') return queryAutotask(query, COUNTRIES);
    const companies = fake.companies.map(toAutotask);
    if (route === '/atservicesrest/v1.0/companies/query') return queryAutotask(query, companies);
    if (route !== '/atservicesrest/v1.0/companies') return { status: 404, json: { errors: [] } };
    // The document of the vendor has no GET of this route.
    if (method !== 'GET' || defects.otherEdition) return { status: 405, json: { errors: ['Method not allowed'] } };
    const listed = companies.filter(({ isActive }) => query.get('$filter') !== 'isActive eq true' || isActive === true);
    const page = numberOf(query, 'page', 1);
    const size = numberOf(query, '$top', 500);
    const hasNext = listed.length > page * size;
    const nextPageUrl = hasNext ? fake.nextLink(request, { page: String(page + 1) }, page) : null;
    return { json: { items: pageOf(listed, page, size), pageDetails: { count: size, nextPageUrl } } };
  },
};

const toAutotask = ({ id, name, fields }: FakeCompany): Record<string, unknown> => ({
  id,
  companyName: name,
  companyType: 1,
  isActive: true,
  ...fields,
});

/** Responds to the query of one entity, by the operators `eq`, `gt` and `in`. */
function queryAutotask(query: URLSearchParams, entities: readonly Record<string, unknown>[]): FakePsaResponse {
  const { MaxRecords: size = 500, Filter } = JSON.parse(query.get('search') ?? '{"Filter":[]}') as AutotaskSearch;
  if (size < 1 || size > 500) return { status: 500, json: { errors: ['MaxRecords'] } };
  const matches = (entity: Record<string, unknown>) =>
    Filter.every(({ op, field, value }) => {
      if (op === 'in') return (value as unknown[]).includes(entity[field]);
      return op === 'gt' ? Number(entity[field]) > Number(value) : entity[field] === value;
    });
  return { json: { items: entities.filter(matches).slice(0, size), pageDetails: { nextPageUrl: null } } };
}

const servicenow: FakeVendor = {
  basePath: '',
  credentials: { username: 'sync', password: 'servicenow-secret' },
  respond: ({ companies, defects }, { path, query, headers }) => {
    if (headers.authorization !== basicOf('sync', 'servicenow-secret')) {
      return {
        status: 401,
        json: { error: { message: 'User is not authenticated', detail: null }, status: 'failure' },
      };
    }
    if (path !== '/api/now/table/core_company') {
      return { status: 404, json: { error: { message: 'Invalid table', detail: null }, status: 'failure' } };
    }
    const { hiddenRows = 0 } = defects;
    const offset = numberOf(query, 'sysparm_offset', 0);
    const conditions = (query.get('sysparm_query') ?? '').split('^').map((condition) => condition.split('='));
    const rows = companies
      .map(toServicenow)
      .filter((row) => conditions.every(([field = '', value]) => !(field in row) || row[field] === value));
    const shown = (query.get('sysparm_fields') ?? '').split(',');
    // Access rules apply after the page was cut, so that it is shorter than asked.
    const result = rows
      .map((row, index) => ({ row, isHidden: index % 100 < hiddenRows }))
      .slice(offset, offset + numberOf(query, 'sysparm_limit', 10_000))
      .flatMap(({ row, isHidden }) => (isHidden ? [] : [Object.fromEntries(shown.map((name) => [name, row[name]]))]));
    return { json: { result }, headers: { 'x-total-count': String(rows.length) } };
  },
};

/** Values are texts. A reference is the id of its record; fields of that record have names with a dot. */
const toServicenow = ({ id, name, fields }: FakeCompany): Record<string, unknown> => ({
  sys_id: String(id),
  name,
  active: 'true',
  customer: 'true',
  street: '1 Main Street',
  city: 'Springfield',
  contact: '5137153cc611227c000bbd1bd8cd2005',
  'contact.name': 'Kim Contact',
  ...fields,
});

/** Editions for MSPs have companies, the others departments. */
const freshservice: FakeVendor = {
  basePath: '',
  credentials: { apiKey: 'freshservice-secret' },
  respond: ({ companies, defects }, { path, query, headers }) => {
    const [user] = Buffer.from(headers.authorization?.slice(6) ?? '', 'base64')
      .toString('utf8')
      .split(':');
    if (user !== 'freshservice-secret') return { status: 401, json: { code: 'invalid_credentials', message: '' } };
    const list = defects.otherEdition ? 'departments' : 'companies';
    if (path !== `/api/v2/${list}`) return { status: 404 };
    const size = Math.min(100, numberOf(query, 'per_page', 30));
    const rows = pageOf(companies, numberOf(query, 'page', 1), size);
    return { json: { [list]: rows.map(({ id, name, fields }) => ({ id, name, domains: [], ...fields })) } };
  },
};

const zendesk: FakeVendor = {
  basePath: '',
  credentials: { email: 'sync@acme.example', apiToken: 'zendesk-secret' },
  respond: (fake, request) => {
    const { path, query, headers } = request;
    if (headers.authorization !== basicOf('sync@acme.example/token', 'zendesk-secret')) {
      return { status: 401, json: { error: "Couldn't authenticate you" } };
    }
    if (path !== '/api/v2/organizations.json') return { status: 404, json: { error: 'InvalidEndpoint' } };
    if (query.has('page[size]')) return listZendeskByCursor(fake, request);
    const size = Math.min(100, numberOf(query, 'per_page', 100));
    const page = numberOf(query, 'page', 1);
    if (page * size > 10_000) return { status: 400, json: { error: 'InvalidPaginationDepth' } };
    const hasNext = fake.companies.length > page * size;
    const organizations = pageOf(fake.companies, page, size).map(toZendesk);
    const next = hasNext ? fake.nextLink(request, { page: String(page + 1) }, page) : null;
    return { json: { organizations, next_page: next, previous_page: null, count: fake.companies.length } };
  },
};

const toZendesk = ({ id, name, fields }: FakeCompany) => ({ id, name, ...fields });

/** Responds to cursor paging, which has no limit of depth; the cursor is the number of the next page. */
function listZendeskByCursor(fake: FakePsa, request: FakePsaRequest): FakePsaResponse {
  const size = Math.min(100, numberOf(request.query, 'page[size]', 100));
  const page = numberOf(request.query, 'page[after]', 1);
  const after = String(page + 1);
  const organizations = pageOf(fake.companies, page, size).map(toZendesk);
  const meta = { has_more: fake.companies.length > page * size, after_cursor: after };
  const next = meta.has_more ? fake.nextLink(request, { 'page[after]': after }, page) : null;
  return { json: { organizations, meta, links: { next, prev: null } } };
}

const halopsa: FakeVendor = {
  basePath: '',
  credentials: { clientId: 'client', clientSecret: 'halo-secret' },
  respond: (fake, { path, query, headers, method, body }) => {
    if (path === '/auth/token' && method === 'POST') {
      const form = new URLSearchParams(body);
      if (form.get('client_id') !== 'client' || form.get('client_secret') !== 'halo-secret') {
        return { status: 400, json: { error: 'invalid_client' } };
      }
      if (!form.get('scope')) return { status: 400, json: { error: 'invalid_scope' } };
      return { json: { access_token: fake.issueToken(), token_type: 'Bearer', expires_in: 3_600 } };
    }
    if (!fake.useToken(headers.authorization?.slice('Bearer '.length) ?? '')) return { status: 401, text: '' };
    const { companies, defects } = fake;
    if (path === '/api/Client') {
      const { page, total } = listHalo(companies.map(toHaloClient), query, defects.pageSize);
      return { json: { record_count: total, clients: page } };
    }
    if (path !== '/api/Site') return { status: 404, json: {} };
    const sites = companies.flatMap((company, index) => haloSitesOf(company, index, defects.branches ?? 0));
    sites.sort((a, b) => Number(a['id']) - Number(b['id']));
    const { page, total } = listHalo(sites, query, defects.pageSize);
    const isAddress = (name: string) => name.startsWith('delivery_address') || name === 'country_code_name';
    const shown = page.map((site) =>
      Object.fromEntries(
        Object.entries(site).filter(([name]) => query.get('includeaddress') === 'true' || !isAddress(name)),
      ),
    );
    return { json: { record_count: total, sites: shown } };
  },
};

/** Without the parameter of that spelling a list has one page. The server never sends more than 100 rows. */
function listHalo(rows: Record<string, unknown>[], query: URLSearchParams, pageSize?: number) {
  const listed = rows.filter(({ inactive }) => query.get('includeinactive') !== 'false' || inactive !== true);
  const asked = query.get('pageinate') === 'true' ? numberOf(query, 'page_size', 50) : listed.length;
  const size = Math.min(100, pageSize ?? asked);
  return { page: pageOf(listed, numberOf(query, 'page_no', 1), size), total: listed.length };
}

const mainSiteOf = ({ id, site }: FakeCompany): unknown => site?.['id'] ?? Number(id) * 1_000;

const toHaloClient = (company: FakeCompany): Record<string, unknown> => ({
  id: company.id,
  name: company.name,
  main_site_id: mainSiteOf(company),
  main_site_name: 'Main',
  inactive: false,
  ...company.fields,
});

/** Returns the branches of a client, whose ids are lower, and its main site. */
function haloSitesOf(company: FakeCompany, index: number, branches: number): Record<string, unknown>[] {
  const mainSiteId = Number(mainSiteOf(company));
  const client = { client_id: company.id, inactive: false };
  const others = Array.from({ length: branches }, (_, n) => ({
    ...client,
    id: mainSiteId - branches + n,
    name: `Branch ${n + 1}`,
    phonenumber: '+43 1 999',
    delivery_address_line1: 'Branch Road 9',
  }));
  const phonenumber = `+43 1 ${index + 1}`;
  return [...others, { ...client, id: mainSiteId, name: 'Main', phonenumber, ...company.site }];
}

const syncro: FakeVendor = {
  basePath: '',
  credentials: { apiToken: 'syncro-secret' },
  respond: ({ companies, defects }, { path, query, headers }) => {
    if (headers.authorization !== 'Bearer syncro-secret') return { status: 401, json: { error: 'Not Authorized' } };
    if (path !== '/api/v1/customers') return { status: 404, json: { error: 'Not Found' } };
    const { pageSize: size = 25 } = defects;
    const page = numberOf(query, 'page', 1);
    const listed = companies.filter(
      ({ fields }) => query.get('include_disabled') !== 'false' || fields?.['disabled'] !== true,
    );
    const customers = pageOf(listed, page, size).map(({ id, name, fields }) => ({
      id,
      business_name: name,
      firstname: 'Kim',
      lastname: 'Contact',
      email: 'kim@customer.example',
      disabled: false,
      ...fields,
    }));
    const total = listed.length;
    const meta = { total_pages: Math.ceil(total / size), total_entries: total, page, per_page: size };
    return { json: { customers, meta } };
  },
};

const jira: FakeVendor = {
  basePath: '',
  credentials: { email: 'sync@acme.example', apiToken: 'jira-secret' },
  respond: (_fake, { path, headers }) => {
    if (headers.authorization !== basicOf('sync@acme.example', 'jira-secret')) return { status: 401, text: '' };
    if (path !== '/rest/api/2/myself') return { status: 404, json: { errorMessages: ['Not Found'] } };
    return { json: { accountId: '1', displayName: 'Sync' } };
  },
};

export const FAKE_VENDORS: Readonly<Record<FakeVendorName, FakeVendor>> = {
  connectwise,
  autotask,
  servicenow,
  freshservice,
  zendesk,
  halopsa,
  syncro,
  jira,
};
