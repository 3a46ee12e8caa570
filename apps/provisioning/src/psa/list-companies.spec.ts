import { Outbound } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { companiesOf, FakePsa, type FakePsaFault, type FakeVendorName } from '@rmm/testing';
import { PSA_ADAPTERS } from './adapters/psa-adapters.js';
import type { CompanyRow } from './company-row.mapper.js';
import { listCompanies, type ListedCompanies } from './list-companies.js';
import { PsaHttp } from './psa-http.js';
import { PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from './psa.errors.js';
import { PSA_LIMITS } from './psa.limits.js';

const LISTING = ['connectwise', 'autotask', 'servicenow', 'freshservice', 'zendesk', 'halopsa', 'syncro'] as const;

const LISTING_MS = 30_000;
/** Time that is left of a listing after its first request. */
const REST_MS = 50;

/** Clock that moves only when the spec sets it. */
class SteppedClock extends Clock {
  elapsedMs = 0;

  override monotonicMs(): number {
    return this.elapsedMs;
  }
}

describe('listCompanies', () => {
  const outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
  let fake: FakePsa;
  const original = { ...PSA_LIMITS };

  afterAll(() => outbound.close());
  afterEach(async () => {
    Object.assign(PSA_LIMITS, original);
    await fake.stop();
  });

  const start = async (name: FakeVendorName, companies: ConstructorParameters<typeof FakePsa>[1]): Promise<FakePsa> =>
    (fake = await new FakePsa(name, companies).start());

  interface ListOptions {
    linked?: (id: string) => boolean;
    changed?: Record<string, string>;
    clock?: Clock;
  }

  function list({
    linked = () => false,
    changed = {},
    clock = new Clock(),
  }: ListOptions = {}): Promise<ListedCompanies> {
    const adapter = PSA_ADAPTERS[fake.name];
    const access = { credentials: { ...fake.credentials, ...changed }, settings: {} };
    const time = { clock, timeMs: LISTING_MS };
    const http = new PsaHttp(outbound, access.credentials['baseUrl'] ?? '', adapter.authorize(access), time);
    const findKnown = (rows: readonly CompanyRow[]) =>
      Promise.resolve(new Set(rows.map(({ externalId }) => externalId).filter(linked)));
    if (!adapter.companies) throw new Error(`${fake.name} has no companies`);
    const request = { provider: fake.name, listing: adapter.companies, access, http, limits: PSA_LIMITS, findKnown };
    return listCompanies(request);
  }

  const countsOf = ({ rows, truncationReason, fetched }: ListedCompanies) => [rows.length, truncationReason, fetched];

  describe.each(LISTING)('%s', (name) => {
    it.each([0, 1, 100, 101, 1_000])('reads all of %d companies, each once and in order', async (count) => {
      await start(name, count);
      const listed = await list();
      expect(countsOf(listed)).toEqual([count, null, count]);
      expect(listed.rows.map(({ externalId }) => externalId)).toEqual(companiesOf(count).map(({ id }) => String(id)));
      if (count > 0) expect(listed.rows[0]).toMatchObject({ organization: 'Company 1', externalSystem: name });
    });

    it('stops at the cap when there is one company more, and at 2,500', async () => {
      await start(name, 1_001);
      expect(countsOf(await list())).toEqual([1_000, 'cap', 1_000]);
      fake.companies = companiesOf(2_500);
      expect(countsOf(await list())).toEqual([1_000, 'cap', 1_000]);
    });

    it('counts the cap over new companies, so that preview and import in turn get through the list', async () => {
      await start(name, 2_500);
      const linked = (id: string) => Number(id) <= 2_000;
      const listed = await list({ linked });
      expect(countsOf(listed)).toEqual([500, null, 2_500]);
      expect(listed.alreadyLinked).toBe(2_000);
      expect(listed.rows[0]?.externalId).toBe('2001');
    });

    it('ends at the page guard, and not when the list has just as many pages', async () => {
      Object.assign(PSA_LIMITS, { listed: 200 });
      await start(name, 200);
      expect(countsOf(await list())).toEqual([200, null, 200]);
      fake.companies = companiesOf(500);
      expect(countsOf(await list())).toEqual([200, 'page-guard', 200]);
    });

    it('is refused with wrong credentials', async () => {
      await start(name, 3);
      const wrong = { privateKey: 'x', secret: 'x', password: 'x', apiKey: 'x', apiToken: 'x', clientSecret: 'x' };
      await expect(list({ changed: wrong })).rejects.toBeInstanceOf(PsaCredentialsRejected);
    });

    it.each<[string, FakePsaFault, new () => Error]>([
      ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, PsaRequestRefused],
      ['broken JSON', { text: '{"companies": [' }, PsaFailed],
      ['JSON of another form', { json: { message: 'hello' } }, PsaFailed],
      ['no JSON', { text: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } }, PsaFailed],
      ['status 400', { status: 400 }, PsaFailed],
    ])('fails on %s in mid-listing', async (_what, fault, error) => {
      await start(name, 300);
      const first = name === 'halopsa' ? 3 : 2;
      fake.fault = (n) => (n === first ? fault : undefined);
      await expect(list()).rejects.toBeInstanceOf(error);
    });

    it('reads on after one status 500, one lost connection and two statuses 429', async () => {
      Object.assign(PSA_LIMITS, { firstWaitMs: 10 });
      await start(name, 300);
      const faults: Record<number, FakePsaFault> = {
        2: { status: 500 },
        4: 'reset',
        6: { status: 429, headers: { 'retry-after': '0' } },
        7: { status: 429 },
      };
      fake.fault = (n) => faults[n];
      expect(countsOf(await list())).toEqual([300, null, 300]);
    });
  });

  describe('defects of vendors', () => {
    it('reads all rows of ServiceNow when access rules thin out every page', async () => {
      await start('servicenow', 450);
      fake.defects = { hiddenRows: 30 };
      const listed = await list();
      expect(listed.truncationReason).toBeNull();
      expect(listed.rows).toHaveLength(450 - 5 * 30);
    });

    it('reads on after a page of ServiceNow whose rows are all hidden', async () => {
      await start('servicenow', 250);
      fake.defects = { hiddenRows: 100 };
      expect(countsOf(await list())).toEqual([0, null, 0]);
      expect(fake.requests.map(({ query }) => query.get('sysparm_offset'))).toEqual(['0', '100', '200']);
    });

    it('reads on when the visible rows of ServiceNow are the same at the next offset', async () => {
      await start('servicenow', 250);
      fake.defects = { hiddenRows: 90 };
      const listed = await list();
      expect(countsOf(listed)).toEqual([20, null, 20]);
    });

    it('asks for a new token of HaloPSA when one expires in mid-listing', async () => {
      await start('halopsa', 500);
      fake.defects = { tokenUses: 4 };
      expect(countsOf(await list())).toEqual([500, null, 500]);
      expect(fake.requests.filter(({ path }) => path === '/auth/token')).toHaveLength(3);
    });

    it('gives up when each new token is refused as well', async () => {
      await start('halopsa', 5);
      fake.defects = { tokenUses: 0 };
      await expect(list()).rejects.toBeInstanceOf(PsaCredentialsRejected);
      expect(fake.requests.length).toBeLessThanOrEqual(4);
    });

    it.each<[FakeVendorName, number]>([
      ['halopsa', 40],
      ['syncro', 100],
    ])('reads all pages of %s when they have %d companies', async (name, pageSize) => {
      await start(name, 250);
      fake.defects = { pageSize };
      expect(countsOf(await list())).toEqual([250, null, 250]);
    });

    it.each<FakeVendorName>(['autotask', 'freshservice'])('reads the other edition of %s', async (name) => {
      await start(name, 250);
      fake.defects = { otherEdition: true };
      expect(countsOf(await list())).toEqual([250, null, 250]);
    });
  });

  it.each([10_000, 10_001, 10_100])(
    'reads %d organizations of Zendesk, which pages 10,000 by number',
    async (count) => {
      Object.assign(PSA_LIMITS, { listed: 20_000 });
      await start('zendesk', count);
      const listed = await list({ linked: (id) => Number(id) < count });
      expect(countsOf(listed)).toEqual([1, null, count]);
      expect(listed.rows[0]?.externalId).toBe(String(count));
    },
  );

  it('fails when Zendesk promises a page and sends no link to it', async () => {
    await start('zendesk', 10_100);
    fake.fault = (n) => (n === 2 ? { json: { organizations: [{ id: 1 }], meta: { has_more: true } } } : undefined);
    await expect(list()).rejects.toThrow('sends no link');
  });

  describe('sites of HaloPSA', () => {
    const sitePages = () => fake.requests.filter(({ path }) => path === '/api/Site').length;
    const phonesOf = ({ rows }: ListedCompanies) => rows.map(({ contact }) => contact?.['phone']);
    const phones = (count: number) => Array.from({ length: count }, (_, index) => `+43 1 ${index + 1}`);

    it('are read as a list, and each company gets its main one', async () => {
      await start('halopsa', 250);
      fake.defects = { branches: 2 };
      expect(phonesOf(await list())).toEqual(phones(250));
      expect(sitePages()).toBe(8);
    });

    it('are read up to the main site that is needed', async () => {
      await start('halopsa', [...companiesOf(149), { id: 150, name: 'Company 150', site: { id: 1 } }]);
      expect(phonesOf(await list())).toEqual(phones(150));
      const order = fake.requests.map(({ path }) => path).filter((path) => path !== '/auth/token');
      expect(order).toEqual(['/api/Client', '/api/Site', '/api/Site', '/api/Client']);
    });

    it('are left out for a company without a main site, or with one that is not listed', async () => {
      await start('halopsa', [
        { id: 1, name: 'A', fields: { main_site_id: null } },
        { id: 2, name: 'B', site: { inactive: true, phonenumber: '2' } },
        { id: 3, name: 'C', site: { phonenumber: '3' } },
      ]);
      expect(phonesOf(await list())).toEqual([undefined, undefined, '3']);
    });

    it('are not taken from another company', async () => {
      await start('halopsa', [
        { id: 1, name: 'A', fields: { main_site_id: 2_000 } },
        { id: 2, name: 'B' },
      ]);
      expect(phonesOf(await list())).toEqual([undefined, '+43 1 2']);
    });

    it('count to the page guard, four for each company that may be read', async () => {
      Object.assign(PSA_LIMITS, { listed: 200 });
      await start('halopsa', 200);
      fake.defects = { branches: 3 };
      expect(countsOf(await list())).toEqual([200, null, 200]);
      fake.defects = { branches: 8 };
      expect(countsOf(await list())).toEqual([0, 'page-guard', 0]);
      expect(sitePages()).toBe(8 + 9);
    });

    it('keep what was listed when the time is spent', async () => {
      await start('halopsa', 300);
      const clock = new SteppedClock();
      fake.fault = (_n, { path, query }) => {
        if (path !== '/api/Site' || query.get('page_no') !== '2') return undefined;
        clock.elapsedMs = LISTING_MS;
        return { status: 429 };
      };
      expect(countsOf(await list({ clock }))).toEqual([100, 'time-budget', 100]);
    });

    it('fail the listing when their list repeats a page', async () => {
      await start('halopsa', 300);
      fake.defects = { branches: 2 };
      fake.fault = (_n, request) => {
        if (request.path === '/api/Site') request.query.set('page_no', '1');
        return undefined;
      };
      await expect(list()).rejects.toThrow('repeats a page');
    });

    it('are refused in a page of too many', async () => {
      await start('halopsa', 1);
      fake.fault = (_n, { path }) => (path === '/api/Site' ? { json: { sites: companiesOf(2_001) } } : undefined);
      await expect(list()).rejects.toThrow('too many');
    });
  });

  describe.each<[FakeVendorName, number]>([
    ['autotask', 300],
    ['zendesk', 300],
    ['zendesk', 10_100],
  ])('links of %s to next pages, of %d companies', (name, count) => {
    /** Requests before the one that may follow a link. */
    const before = count > 10_000 ? 2 : 1;

    it.each<[string, (link: string) => string]>([
      ['another host', (link) => link.replace('127.0.0.1', '127.0.0.2')],
      ['another port', (link) => link.replace(/:\d+\//, ':9/')],
      ['another scheme', (link) => link.replace('http:', 'https:')],
      ['a metadata service', () => 'http://169.254.169.254/latest/meta-data'],
      ['user info', (link) => link.replace('http://', 'http://user:secret@')],
      ['a host that begins like ours', (link) => link.replace(/(127\.0\.0\.1:\d+)/, '$1@evil.example')],
      ['no scheme', () => '//evil.example/page'],
      ['a script', () => 'javascript:alert(1)'],
    ])('refuses %s', async (_what, nextLink) => {
      await start(name, count);
      fake.defects = { nextLink };
      await expect(list()).rejects.toBeInstanceOf(PsaRequestRefused);
      expect(fake.requests).toHaveLength(before);
    });

    it('fails on a link that leads back', async () => {
      await start(name, count);
      fake.defects = { nextLink: (link) => link.replace(/(page|page%5Bafter%5D)=\d+/, '$1=1') };
      await expect(list()).rejects.toThrow('repeats a page');
      expect(fake.requests.length).toBeLessThanOrEqual(before + 2);
    });
  });

  it.each<[FakeVendorName, string, string]>([
    ['connectwise', 'page', '1'],
    ['freshservice', 'page', '1'],
    ['syncro', 'page', '1'],
    ['halopsa', 'page_no', '1'],
    ['servicenow', 'sysparm_offset', '0'],
  ])('fails when %s sends the same page again and again', async (name, parameter, value) => {
    await start(name, 300);
    fake.fault = (_n, request) => {
      if (request.path !== '/api/Site') request.query.set(parameter, value);
      return undefined;
    };
    await expect(list()).rejects.toThrow('repeats a page');
  });

  it('ends when ServiceNow repeats its only page and says that there is no other', async () => {
    await start('servicenow', 30);
    fake.fault = (_n, request) => {
      request.query.set('sysparm_offset', '0');
      return undefined;
    };
    expect(countsOf(await list())).toEqual([30, null, 30]);
    expect(fake.requests).toHaveLength(2);
  });

  it('refuses a response that is larger than the limit', async () => {
    Object.assign(PSA_LIMITS, { responseBytes: 100_000 });
    await start('zendesk', 300);
    fake.fault = (n) => (n === 2 ? { json: { organizations: [] }, padding: 100_001 } : undefined);
    await expect(list()).rejects.toThrow('too large');
  });

  it('refuses a page of too many companies', async () => {
    await start('zendesk', 1);
    fake.fault = () => ({ json: { organizations: companiesOf(2_001), next_page: null } });
    await expect(list()).rejects.toThrow('too many rows');
  });

  it('fails when one response takes too long, and keeps what it has when the time of the listing is spent', async () => {
    await start('zendesk', 300);
    fake.fault = (n) => {
      if (n === 1) Object.assign(PSA_LIMITS, { requestMs: 50 }); // of the requests that follow
      return n === 2 ? 'hang' : undefined;
    };
    await expect(list()).rejects.toThrow('did not respond in time');
    Object.assign(PSA_LIMITS, original);
    fake.requests.length = 0;
    const clock = new SteppedClock();
    fake.fault = (n) => {
      if (n === 1) clock.elapsedMs = LISTING_MS - REST_MS;
      return n === 2 ? 'hang' : undefined;
    };
    expect(countsOf(await list({ clock }))).toEqual([100, 'time-budget', 100]);
  });

  it.each([{}, { 'retry-after': '3600' }, { 'retry-after': new Date(Date.now() + 600_000).toUTCString() }])(
    'ends with the time of the listing when the PSA limits requests for longer (%j)',
    async (headers) => {
      Object.assign(PSA_LIMITS, { firstWaitMs: 5 });
      await start('freshservice', 300);
      const clock = new SteppedClock();
      fake.fault = (n) => {
        clock.elapsedMs = LISTING_MS - REST_MS;
        return n > 1 ? { status: 429, headers: headers as Record<string, string> } : undefined;
      };
      expect(countsOf(await list({ clock }))).toEqual([100, 'time-budget', 100]);
      // Waits of at least 2.5, 5, 10, 20, 40 and 80 ms: the sixth is longer than the rest of the time.
      expect(fake.requests.length).toBeLessThanOrEqual('retry-after' in headers ? 2 : 7);
    },
  );

  it('fails after repeated statuses 500', async () => {
    Object.assign(PSA_LIMITS, { firstWaitMs: 5 });
    await start('zendesk', 300);
    fake.fault = () => ({ status: 500 });
    await expect(list()).rejects.toThrow('status 500');
    expect(fake.requests).toHaveLength(3);
  });

  it('counts companies without a usable id or name, and shortens long names', async () => {
    await start('connectwise', [
      { id: 1, name: '  Two  Words ' },
      { id: 2, name: '   ' },
      { id: 3, name: 'x'.repeat(300) },
      { id: 4, name: `${'y'.repeat(254)}😀` },
      { id: 'z'.repeat(256), name: 'Long id' },
      { id: 6, name: 'Same' },
      { id: 7, name: 'Same' },
      { id: 8, name: 'Gone', fields: { deletedFlag: true } },
    ]);
    const listed = await list();
    expect(listed).toMatchObject({ fetched: 7, malformed: 2, alreadyLinked: 0 });
    expect(listed.rows.map(({ organization }) => organization)).toEqual([
      'Two  Words',
      'x'.repeat(255),
      'y'.repeat(254),
      'Same',
      'Same',
    ]);
    expect(listed.rows[0]).toEqual({
      organization: 'Two  Words',
      externalId: '1',
      externalSystem: 'connectwise',
      site: 'Main Office',
      timezone: 'America/Chicago',
      address: {
        line1: '1 Main Street',
        city: 'Springfield',
        region: 'IL',
        postalCode: '62701',
        country: 'United States',
      },
      contact: { name: 'Kim Contact', phone: '+1 217 555 0100' },
    });
  });

  it('reports time zones that are not known, by the row', async () => {
    const zone = (name: string) => ({ timeZoneSetup: { name } });
    await start('connectwise', [
      { id: 1, name: 'A', fields: zone('(UTC+01:00) W. Europe Standard Time') },
      { id: 2, name: 'B', fields: zone('Our own zone') },
      { id: 3, name: 'C', fields: zone('Europe/Vienna') },
    ]);
    const { rows, unknownTimezones } = await list();
    expect(rows.map(({ timezone }) => timezone)).toEqual(['Europe/Berlin', undefined, 'Europe/Vienna']);
    expect(unknownTimezones).toEqual([{ index: 1, timezone: 'Our own zone' }]);
  });
});
