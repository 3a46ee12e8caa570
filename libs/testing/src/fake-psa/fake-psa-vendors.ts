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

const connectwise: FakeVendor = {
  basePath: '/v4_6_release/apis/3.0',
  credentials: { companyId: 'acme', publicKey: 'public', privateKey: 'private-secret' },
  respond: ({ companies }, { path, query, headers }) => {
    if (headers.authorization !== basicOf('acme+public', 'private-secret')) {
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
    const { companies, defects } = fake;
    const toItem = ({ id, name, fields }: FakeCompany) => ({ id, companyName: name, isActive: true, ...fields });
    const route = path.toLowerCase();
    if (route === '/atservicesrest/v1.0/companies/query') {
      const search = JSON.parse(query.get('search') ?? '{}') as { MaxRecords?: number; Filter: { value: unknown }[] };
      const { MaxRecords: size = 500 } = search;
      if (size < 1 || size > 500) return { status: 500, json: { errors: ['MaxRecords'] } };
      const after = Number(search.Filter[1]?.value ?? 0);
      const items = companies.filter(({ id }) => Number(id) > after).slice(0, size);
      return { json: { items: items.map(toItem), pageDetails: { nextPageUrl: null } } };
    }
    if (route !== '/atservicesrest/v1.0/companies' || defects.otherEdition)
      return { status: 404, json: { errors: [] } };
    if (method !== 'GET') return { status: 405, json: { errors: ['Method not allowed'] } };
    const page = numberOf(query, 'page', 1);
    const size = numberOf(query, '$top', 500);
    const hasNext = companies.length > page * size;
    const nextPageUrl = hasNext ? fake.nextLink(request, { page: String(page + 1) }, page) : null;
    return { json: { items: pageOf(companies, page, size).map(toItem), pageDetails: { count: size, nextPageUrl } } };
  },
};

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
    // Access rules apply after the page was cut, so that it is shorter than asked.
    const result = companies
      .map((company, index) => ({ company, isHidden: index % 100 < hiddenRows }))
      .slice(offset, offset + numberOf(query, 'sysparm_limit', 10_000))
      .flatMap(({ company: { id, name, fields }, isHidden }) =>
        isHidden ? [] : [{ sys_id: String(id), name, street: '1 Main Street', city: 'Springfield', ...fields }],
      );
    return { json: { result }, headers: { 'x-total-count': String(companies.length) } };
  },
};

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
    const size = Math.min(100, numberOf(query, 'per_page', 100));
    const page = numberOf(query, 'page', 1);
    if (page * size > 10_000) return { status: 400, json: { error: 'InvalidPaginationDepth' } };
    const hasNext = fake.companies.length > page * size;
    const organizations = pageOf(fake.companies, page, size).map(({ id, name, fields }) => ({ id, name, ...fields }));
    const next = hasNext ? fake.nextLink(request, { page: String(page + 1) }, page) : null;
    return { json: { organizations, next_page: next, previous_page: null, count: fake.companies.length } };
  },
};

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
    if (path !== '/api/Client') return { status: 404, json: {} };
    const { companies, defects } = fake;
    const asked = query.get('pageinate') === 'true' ? numberOf(query, 'page_size', 50) : companies.length;
    const size = Math.min(100, defects.pageSize ?? asked);
    const clients = pageOf(companies, numberOf(query, 'page_no', 1), size);
    return {
      json: {
        record_count: companies.length,
        clients: clients.map(({ id, name, fields }) => ({
          id,
          name,
          main_site_name: 'Main',
          inactive: false,
          ...fields,
        })),
      },
    };
  },
};

const syncro: FakeVendor = {
  basePath: '',
  credentials: { apiToken: 'syncro-secret' },
  respond: ({ companies, defects }, { path, query, headers }) => {
    if (headers.authorization !== 'Bearer syncro-secret') return { status: 401, json: { error: 'Not Authorized' } };
    if (path !== '/api/v1/customers') return { status: 404, json: { error: 'Not Found' } };
    const { pageSize: size = 25 } = defects;
    const page = numberOf(query, 'page', 1);
    const customers = pageOf(companies, page, size).map(({ id, name, fields }) => ({
      id,
      business_name: name,
      firstname: 'Kim',
      lastname: 'Contact',
      email: 'kim@customer.example',
      disabled: false,
      ...fields,
    }));
    const total = companies.length;
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
