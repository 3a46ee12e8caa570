import { Outbound } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { FakePsa } from '@rmm/testing';
import { FixedClock } from '@rmm/testing-services';
import { ListingTimeSpent, PsaHttp } from './psa-http.js';
import { PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from './psa.errors.js';
import { PSA_LIMITS } from './psa.limits.js';

describe('PsaHttp', () => {
  const outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
  const original = { ...PSA_LIMITS };
  let fake: FakePsa;

  beforeEach(async () => (fake = await new FakePsa('zendesk').start()));
  afterEach(async () => {
    Object.assign(PSA_LIMITS, original);
    await fake.stop();
  });
  afterAll(() => outbound.close());

  const open = (base = fake.origin, timeMs = 10_000, clock = new Clock()) =>
    new PsaHttp(outbound, base, () => ({ authorization: 'Basic x' }), { clock, timeMs });
  const ok = { json: { fine: true } };

  it('sends credentials below the path of the base URL and accepts a byte order mark', async () => {
    fake.fault = () => ({ text: '\ufeff{"fine":true}' });
    expect((await open(`${fake.origin}/a/b/`).getJson('/c?d=e')).json).toEqual({ fine: true });
    const [{ path, query, headers }] = fake.requests;
    expect([path, query.get('d'), headers.authorization]).toEqual(['/a/b/c', 'e', 'Basic x']);
  });

  it.each<[string, (origin: string) => string]>([
    ['another host', () => 'http://evil.example/page'],
    ['another port', () => 'http://127.0.0.1:9/page'],
    ['https instead of http', (origin) => origin.replace('http:', 'https:')],
    ['user info', (origin) => `${origin.replace('//', '//user:secret@')}/page`],
    ['an address of another protocol', () => 'file:///etc/passwd'],
    ['a protocol-relative address', () => '//evil.example/page'],
    ['a metadata service', () => 'http://169.254.169.254/latest'],
    ['no address', () => 'http://'],
  ])('refuses a link to %s and sends nothing', (_what, linkOf) => {
    expect(() => open().link(linkOf(fake.origin))).toThrow(PsaRequestRefused);
    expect(fake.requests).toEqual([]);
  });

  it('rebuilds a link on the stored origin, without its fragment', () => {
    expect(open().link(`${fake.origin}/page?a=b#c`)).toBe(`${fake.origin}/page?a=b`);
    expect(open().link('/page')).toBe(`${fake.origin}/page`);
  });

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('waits as long as a status 429 asks in %s', async (_what, header) => {
    let refusedMs = 0;
    fake.fault = (n) => {
      if (n > 1) return ok;
      refusedMs = performance.now();
      return { status: 429, headers: { 'retry-after': header() } };
    };
    await open().getJson('/x');
    // A date has whole seconds: between one and two of them are left.
    expect(performance.now() - refusedMs).toBeGreaterThan(900);
    expect(fake.requests).toHaveLength(2);
  });

  it('repeats a request after a status 429 without Retry-After as long as there is time', async () => {
    Object.assign(PSA_LIMITS, { firstWaitMs: 4, longestWaitMs: 8 });
    fake.fault = (n) => (n <= 6 ? { status: 429 } : ok);
    expect((await open().getJson('/x')).json).toEqual({ fine: true });
    expect(fake.requests).toHaveLength(7);
  });

  it('does not wait for longer than the time of the listing', async () => {
    fake.fault = () => ({ status: 429, headers: { 'retry-after': '11' } });
    await expect(open().getJson('/x')).rejects.toBeInstanceOf(ListingTimeSpent);
    expect(fake.requests).toHaveLength(1);
  });

  it('sends nothing once the time is spent', async () => {
    const clock = new FixedClock('2026-03-01T00:00:00Z');
    const http = open(fake.origin, 1_000, clock);
    clock.advance(1_000);
    await expect(http.getJson('/x')).rejects.toBeInstanceOf(ListingTimeSpent);
    expect(fake.requests).toEqual([]);
  });

  it.each<[number, number]>([
    [500, 3],
    [502, 3],
    [503, 3],
    [501, 1],
    [505, 1],
    [400, 1],
    [404, 1],
    [409, 1],
  ])('fails on the status %d after %d requests', async (status, requests) => {
    Object.assign(PSA_LIMITS, { firstWaitMs: 4 });
    fake.fault = () => ({ status });
    await expect(open().getJson('/x')).rejects.toBeInstanceOf(PsaFailed);
    expect(fake.requests).toHaveLength(requests);
  });

  it.each([301, 302, 303, 307, 308])(
    'refuses a redirect with the status %d, also to its own origin',
    async (status) => {
      fake.fault = () => ({ status, headers: { location: `${fake.origin}/elsewhere` } });
      await expect(open().getJson('/x')).rejects.toBeInstanceOf(PsaRequestRefused);
      expect(fake.requests).toHaveLength(1);
    },
  );

  it.each([401, 403])('asks once for new credentials after the status %d', async (status) => {
    const renewed: boolean[] = [];
    const authorize = (_http: PsaHttp, renew: boolean) => {
      renewed.push(renew);
      return { authorization: `Bearer ${renewed.length}` };
    };
    fake.fault = () => ({ status });
    const http = new PsaHttp(outbound, fake.origin, authorize, { clock: new Clock(), timeMs: 5_000 });
    await expect(http.getJson('/x')).rejects.toBeInstanceOf(PsaCredentialsRejected);
    expect(renewed).toEqual([false, true]);
    expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2']);
  });
});
