import { Outbound } from '@rmm/outbound';
import { KeyRing } from '@rmm/secrets';
import { Clock, type Logger } from '@rmm/service-kit';
import { FakePsa } from '@rmm/testing';
import { PsaClientsService } from './psa-clients.service.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaCredentialsIncomplete } from './psa.errors.js';

const ringOf = (byte: number) => new KeyRing({ keys: { one: Buffer.alloc(32, byte) }, activeKid: 'one' });

describe('PsaClientsService', () => {
  const outbound = new Outbound({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });
  const sealing = new PsaSealingService(ringOf(1));
  const error = jest.fn();
  const logger = { error } as unknown as Logger;
  let fake: FakePsa;

  beforeEach(async () => {
    error.mockClear();
    fake = await new FakePsa('zendesk').start();
  });
  afterEach(() => fake.stop());
  afterAll(() => outbound.close());

  const connectionWith = (credentials: Record<string, string>): PsaConnection =>
    ({
      id: 'c-1',
      provider: 'zendesk',
      settings: { a: 1 },
      ...sealing.seal('c-1', 'zendesk', credentials),
    }) as unknown as PsaConnection;
  const clients = (seal = sealing) => new PsaClientsService(outbound, seal, new Clock(), logger);

  it('opens the secrets and sends them to the base URL', async () => {
    const { adapter, access, http } = clients().open(connectionWith(fake.credentials), 5_000);
    expect(access).toEqual({ credentials: fake.credentials, settings: { a: 1 } });
    const pages = adapter.companies?.pages(http, access, 1);
    expect((await pages?.next())?.value).toHaveLength(3);
    const { email, apiToken } = fake.credentials;
    const expected = Buffer.from(`${email}/token:${apiToken}`).toString('base64');
    expect(fake.requests.map(({ headers }) => headers.authorization)).toEqual([`Basic ${expected}`]);
  });

  it('names the credentials that are missing and sends nothing', () => {
    const { baseUrl } = fake.credentials;
    expect(() => clients().open(connectionWith({ baseUrl }), 5_000)).toThrow(
      new PsaCredentialsIncomplete(['email', 'apiToken']),
    );
    expect(fake.requests).toEqual([]);
  });

  it('reports secrets that no key opens as missing, and logs neither them nor the sealed text', () => {
    const connection = connectionWith(fake.credentials);
    const other = clients(new PsaSealingService(ringOf(2)));
    expect(() => other.open(connection, 5_000)).toThrow(new PsaCredentialsIncomplete(['apiToken']));
    expect(error).toHaveBeenCalledTimes(1);
    const [fields] = error.mock.calls[0] as [{ connectionId: string; err: Error }];
    expect(fields.connectionId).toBe('c-1');
    expect(`${fields.err.message}${fields.err.stack ?? ''}`).not.toContain(fake.credentials['apiToken']);
    expect(`${fields.err.message}`).not.toContain(connection.secretsSealed);
  });

  it('passes other failures of opening on', () => {
    const broken = { open: () => { throw new TypeError('broken'); } } as unknown as PsaSealingService; // prettier-ignore
    expect(() => clients(broken).open(connectionWith(fake.credentials), 5_000)).toThrow(TypeError);
  });
});
