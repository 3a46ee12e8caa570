import type { UserCaller } from '@rmm/access';
import { Outbound } from '@rmm/outbound';
import { KeyRing } from '@rmm/secrets';
import { Clock, type Logger } from '@rmm/service-kit';
import { FakePsa, type FakeVendorName } from '@rmm/testing';
import { PsaClientsService } from './psa-clients.service.js';
import type { PsaConnectionTestService } from './psa-connection-test.service.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { ListingInterrupted } from './psa-http.js';
import { PsaListingService } from './psa-listing.service.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaConnectionPaused, PsaCredentialsRejected, PsaListingUnsupported } from './psa.errors.js';
import { PSA_LIMITS } from './psa.limits.js';

describe('PsaListingService', () => {
  const outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
  const ring = new KeyRing({ keys: { one: Buffer.alloc(32, 1) }, activeKid: 'one' });
  const sealing = new PsaSealingService(ring);
  const recordAccess = jest.fn();
  const listing = new PsaListingService(new PsaClientsService(outbound, sealing, new Clock(), {} as Logger), {
    recordAccess,
  } as unknown as PsaConnectionTestService);
  const caller = {} as UserCaller;
  let fake: FakePsa;

  beforeEach(() => recordAccess.mockClear());
  afterEach(() => fake.stop());
  afterAll(() => outbound.close());

  function list(name: FakeVendorName, status = 'active', signal?: AbortSignal) {
    const connection = { id: 'c', provider: name, status, settings: {}, ...sealing.seal('c', name, fake.credentials) };
    const findKnown = () => Promise.resolve(new Set<string>());
    return listing.list(caller, connection as unknown as PsaConnection, { limits: PSA_LIMITS, findKnown, signal });
  }
  const start = async (name: FakeVendorName) => (fake = await new FakePsa(name).start());

  it('lists companies and records that the PSA accepted the credentials', async () => {
    await start('syncro');
    expect((await list('syncro')).rows).toHaveLength(3);
    expect(recordAccess).toHaveBeenCalledWith(caller, expect.objectContaining({ id: 'c' }), null);
  });

  it('records that the PSA refused the credentials', async () => {
    await start('syncro');
    fake.fault = () => ({ status: 403 });
    await expect(list('syncro')).rejects.toBeInstanceOf(PsaCredentialsRejected);
    expect(recordAccess.mock.calls[0]?.[2]).toBeInstanceOf(PsaCredentialsRejected);
  });

  it.each<[FakeVendorName, string, new () => Error]>([
    ['jira', 'active', PsaListingUnsupported],
    ['zendesk', 'paused', PsaConnectionPaused],
  ])('sends nothing for %s with the status %s', async (name, status, error) => {
    await start(name);
    await expect(list(name, status)).rejects.toBeInstanceOf(error);
    expect(fake.requests).toEqual([]);
    expect(recordAccess).not.toHaveBeenCalled();
  });

  it('ends a request and a wait of the PSA at once when it is interrupted', async () => {
    await start('zendesk');
    for (const fault of ['hang', { status: 429, headers: { 'retry-after': '15' } }] as const) {
      const stopping = new AbortController();
      fake.fault = () => {
        setImmediate(() => stopping.abort());
        return fault;
      };
      const startedMs = performance.now();
      await expect(list('zendesk', 'active', stopping.signal)).rejects.toBeInstanceOf(ListingInterrupted);
      expect(performance.now() - startedMs).toBeLessThan(10_000);
    }
    const stopped = AbortSignal.abort();
    fake.requests.length = 0;
    await expect(list('zendesk', 'active', stopped)).rejects.toBeInstanceOf(ListingInterrupted);
  });
});
