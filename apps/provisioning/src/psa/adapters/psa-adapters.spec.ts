import { Outbound } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { FakePsa, type FakeCompany, type FakeVendorName } from '@rmm/testing';
import { listCompanies, type ListedCompanies } from '../list-companies.js';
import { PsaHttp } from '../psa-http.js';
import { PsaCredentialsRejected } from '../psa.errors.js';
import { PSA_LIMITS } from '../psa.limits.js';
import { PSA_ADAPTERS } from './psa-adapters.js';

interface Mapping {
  provider: FakeVendorName;
  /** A company with every field that the provider has. */
  company: FakeCompany;
  /** Its row, without the name of the system. */
  row: Record<string, unknown>;
  /** Fields of companies that are not listed. */
  unlisted?: Record<string, unknown>[];
}

const ADDRESS = {
  line1: '1 Main Street',
  line2: 'Floor 2',
  city: 'Springfield',
  region: 'IL',
  postalCode: '62701',
  country: 'United States',
};

const MAPPINGS: Mapping[] = [
  {
    provider: 'connectwise',
    company: {
      id: 7,
      name: 'Acme',
      fields: {
        addressLine1: '1 Main Street',
        addressLine2: 'Floor 2',
        city: 'Springfield',
        state: 'IL',
        zip: '62701',
        country: { id: 1, name: 'United States' },
        phoneNumber: '+1 217 555 0100',
        defaultContact: { id: 7, name: 'Kim Contact' },
        site: { id: 3, name: 'Main Office' },
        timeZoneSetup: { id: 1, name: '(GMT-06:00) Central Standard Time' },
      },
    },
    row: {
      organization: 'Acme',
      externalId: '7',
      site: 'Main Office',
      timezone: 'America/Chicago',
      address: ADDRESS,
      contact: { name: 'Kim Contact', phone: '+1 217 555 0100' },
    },
    unlisted: [{ deletedFlag: true }],
  },
  {
    provider: 'autotask',
    company: {
      id: 7,
      name: 'Acme',
      fields: {
        address1: '1 Main Street',
        address2: 'Floor 2',
        city: 'Springfield',
        state: 'IL',
        postalCode: '62701',
        countryID: 237,
        phone: '+1 217 555 0100',
      },
    },
    row: { organization: 'Acme', externalId: '7', address: ADDRESS, contact: { phone: '+1 217 555 0100' } },
    unlisted: [{ isActive: false }],
  },
  {
    provider: 'halopsa',
    company: {
      id: 7,
      name: 'Acme',
      fields: { main_site_name: 'Main Office', phonenumber: 'of the client', timezone: 'of the client' },
      site: {
        phonenumber: '+1 217 555 0100',
        timezone: 'Central Standard Time',
        delivery_address_line1: '1 Main Street',
        delivery_address_line2: 'Floor 2',
        delivery_address_line3: 'Springfield',
        delivery_address_line4: 'IL',
        delivery_address_line5: '62701',
        country_code_name: 'United States',
      },
    },
    row: {
      organization: 'Acme',
      externalId: '7',
      site: 'Main Office',
      timezone: 'America/Chicago',
      address: ADDRESS,
      contact: { phone: '+1 217 555 0100' },
    },
    unlisted: [{ inactive: true }],
  },
  {
    provider: 'syncro',
    company: {
      id: 7,
      name: 'Acme',
      fields: {
        firstname: 'Kim',
        lastname: 'Contact',
        email: 'kim@acme.example',
        phone: '+1 217 555 0100',
        address: '1 Main Street',
        address_2: 'Floor 2',
        city: 'Springfield',
        state: 'IL',
        zip: '62701',
      },
    },
    row: {
      organization: 'Acme',
      externalId: '7',
      address: { line1: '1 Main Street', line2: 'Floor 2', city: 'Springfield', region: 'IL', postalCode: '62701' },
      contact: { name: 'Kim Contact', email: 'kim@acme.example', phone: '+1 217 555 0100' },
    },
    unlisted: [{ disabled: true }],
  },
  {
    provider: 'servicenow',
    company: {
      id: 'a1b2',
      name: 'Acme',
      fields: {
        street: '1 Main Street',
        city: 'Springfield',
        state: 'IL',
        zip: '62701',
        country: 'United States',
        phone: '+1 217 555 0100',
        'contact.name': 'Kim Contact',
      },
    },
    row: {
      organization: 'Acme',
      externalId: 'a1b2',
      address: {
        line1: '1 Main Street',
        city: 'Springfield',
        region: 'IL',
        postalCode: '62701',
        country: 'United States',
      },
      contact: { name: 'Kim Contact', phone: '+1 217 555 0100' },
    },
    unlisted: [{ active: 'false' }],
  },
  {
    provider: 'freshservice',
    company: { id: 7, name: 'Acme', fields: { description: 'A customer', domains: ['acme.example'] } },
    row: { organization: 'Acme', externalId: '7' },
  },
  {
    provider: 'zendesk',
    company: { id: 7, name: 'Acme', fields: { external_id: 'x', domain_names: ['acme.example'] } },
    row: { organization: 'Acme', externalId: '7' },
  },
];

describe('PSA_ADAPTERS', () => {
  const outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
  let fake: FakePsa;

  afterAll(() => outbound.close());
  afterEach(() => fake.stop());

  function open(settings: Record<string, unknown> = {}) {
    const { credentials } = fake;
    const adapter = PSA_ADAPTERS[fake.name];
    const access = { credentials, settings };
    const time = { clock: new Clock(), timeMs: 10_000 };
    const http = new PsaHttp(outbound, credentials['baseUrl'] ?? '', adapter.authorize(access), time);
    return { adapter, access, http };
  }

  async function probe(): Promise<void> {
    const { adapter, http } = open();
    await adapter.probe?.(http);
  }

  function list(settings: Record<string, unknown> = {}): Promise<ListedCompanies> {
    const { name: provider } = fake;
    const { adapter, access, http } = open(settings);
    if (!adapter.companies) throw new Error(`${provider} has no companies`);
    const findKnown = () => Promise.resolve(new Set<string>());
    return listCompanies({ provider, listing: adapter.companies, access, http, limits: PSA_LIMITS, findKnown });
  }

  it.each(MAPPINGS)('maps each field of a company of $provider', async ({ provider, company, row }) => {
    fake = await new FakePsa(provider, [company]).start();
    const { rows, unknownTimezones } = await list();
    expect(rows).toEqual([{ ...row, externalSystem: provider }]);
    expect(unknownTimezones).toEqual([]);
  });

  it.each(MAPPINGS)('lists companies of $provider in use only', async ({ provider, unlisted = [] }) => {
    const others = unlisted.map((fields, index) => ({ id: index + 2, name: `Other ${index}`, fields }));
    fake = await new FakePsa(provider, [{ id: 1, name: 'Acme' }, ...others]).start();
    expect((await list()).rows.map(({ organization }) => organization)).toEqual(['Acme']);
  });

  it('reads companies of Autotask in use only, in editions that have the query alone', async () => {
    fake = await new FakePsa('autotask', [
      { id: 1, name: 'Acme', fields: { countryID: 14 } },
      { id: 2, name: 'Closed', fields: { isActive: false } },
    ]).start();
    fake.defects = { otherEdition: true };
    const { rows } = await list();
    expect(rows).toMatchObject([{ organization: 'Acme', address: { country: 'Österreich' } }]);
  });

  it('looks up each country of Autotask once, and leaves out those that are not known', async () => {
    const countryIDs = [237, 237, 14, 9_999, null, 'x'];
    const companies = countryIDs.map((countryID, index) => ({ id: index + 1, name: 'A', fields: { countryID } }));
    const later = Array.from({ length: 200 }, (_, index) => ({ id: index + 7, name: 'B', fields: { countryID: 14 } }));
    fake = await new FakePsa('autotask', [...companies, ...later]).start();
    const countries = (await list()).rows.map(({ address }) => address?.['country']);
    expect(countries.slice(0, 6)).toEqual([
      'United States',
      'United States',
      'Österreich',
      ...Array(3).fill(undefined),
    ]);
    expect(new Set(countries.slice(6))).toEqual(new Set(['Österreich']));
    expect(fake.requests.filter(({ path }) => path.endsWith('/Countries/query'))).toHaveLength(1);
  });

  it('asks Autotask for so few countries at once that the address stays below its limit', async () => {
    const companies = Array.from({ length: 100 }, (_, index) => ({
      id: index + 1,
      name: 'A',
      fields: { countryID: index === 99 ? 14 : 900_000_000 + index },
    }));
    fake = await new FakePsa('autotask', companies).start();
    expect((await list()).rows.at(-1)?.address).toEqual({ country: 'Österreich' });
    expect(fake.requests.filter(({ path }) => path.endsWith('/Countries/query'))).toHaveLength(2);
  });

  it('lists companies of Autotask without countries where their list is unknown', async () => {
    fake = await new FakePsa('autotask', [{ id: 1, name: 'A', fields: { countryID: 14 } }]).start();
    fake.fault = (_n, { path }) => (path.endsWith('/Countries/query') ? { status: 404 } : undefined);
    expect((await list()).rows).toEqual([{ organization: 'A', externalId: '1', externalSystem: 'autotask' }]);
  });

  it.each(['/api/Client', '/api/Site'])('fails the probe of HaloPSA when %s is refused', async (refused) => {
    fake = await new FakePsa('halopsa', 1).start();
    await probe();
    fake.fault = (_n, { path }) => (path === refused ? { status: 403 } : undefined);
    await expect(probe()).rejects.toBeInstanceOf(PsaCredentialsRejected);
  });

  it('names a private customer of Syncro by the first name that is there', async () => {
    fake = await new FakePsa('syncro', [
      { id: 1, name: '', fields: { business_then_name: 'Kim then', fullname: 'Kim Contact' } },
      { id: 2, name: '', fields: { business_then_name: null, fullname: 'Lee Contact' } },
    ]).start();
    expect((await list()).rows.map(({ organization }) => organization)).toEqual(['Kim then', 'Lee Contact']);
  });

  it('sends ConnectWise the client id and the version of its API', async () => {
    fake = await new FakePsa('connectwise', 1).start();
    await list();
    expect(fake.requests[0]?.headers).toMatchObject({
      clientid: fake.credentials['clientId'],
      accept: 'application/vnd.connectwise.com+json; version=2022.1',
    });
  });
});
