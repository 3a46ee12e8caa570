import * as dns from 'node:dns/promises';
import { NameServerResolver, SystemResolver } from './host-resolver.js';
import { Outbound } from './outbound.service.js';

jest.mock('node:dns/promises', () => ({ ...jest.requireActual<typeof dns>('node:dns/promises'), lookup: jest.fn() }));

interface AddressRecord {
  address: string;
  ttl: number;
}

const failure = (code: string) => Promise.reject(Object.assign(new Error(code), { code }));

describe('NameServerResolver', () => {
  let nowMs = 0;
  let questions = 0;
  let v4: () => Promise<AddressRecord[]>;
  let v6: () => Promise<AddressRecord[]>;
  let resolver: NameServerResolver;

  beforeEach(() => {
    nowMs = questions = 0;
    v4 = () => Promise.resolve([{ address: '8.8.8.8', ttl: 300 }]);
    v6 = () => failure('ENODATA');
    const client = { resolve4: () => ((questions += 1), v4()), resolve6: () => v6() };
    resolver = new NameServerResolver(client, () => nowMs);
  });

  const resolve = (host = 'hooks.example.com') => resolver.resolve(host);

  it('caches the addresses of a name for 5 seconds', async () => {
    await expect(resolve()).resolves.toEqual(['8.8.8.8']);
    v4 = () => Promise.resolve([{ address: '1.1.1.1', ttl: 300 }]);
    nowMs = 4_999;
    await expect(resolve()).resolves.toEqual(['8.8.8.8']);
    expect(questions).toBe(1);
    nowMs = 5_000;
    await expect(resolve()).resolves.toEqual(['1.1.1.1']);
  });

  it('caches them for the shortest TTL of both families when that is less', async () => {
    v4 = () => Promise.resolve([4, 3].map((ttl) => ({ address: `8.8.8.${ttl}`, ttl })));
    v6 = () => Promise.resolve([{ address: '2606:4700::1111', ttl: 2 }]);
    await expect(resolve()).resolves.toEqual(['8.8.8.4', '8.8.8.3', '2606:4700::1111']);
    nowMs = 1_999;
    await resolve();
    expect(questions).toBe(1);
    nowMs = 2_000;
    await resolve();
    expect(questions).toBe(2);
  });

  it('queries each time when the TTL is 0', async () => {
    v4 = () => Promise.resolve([{ address: '8.8.8.8', ttl: 0 }]);
    await resolve();
    await resolve();
    expect(questions).toBe(2);
  });

  it('caches neither failures nor names without addresses', async () => {
    v4 = () => failure('ESERVFAIL');
    await expect(resolve()).rejects.toThrow('ESERVFAIL');
    v4 = () => failure('ENOTFOUND');
    await expect(resolve()).resolves.toEqual([]);
    v4 = () => Promise.resolve([{ address: '8.8.8.8', ttl: 300 }]);
    await expect(resolve()).resolves.toEqual(['8.8.8.8']);
    await expect(resolve('other.example.com')).resolves.toEqual(['8.8.8.8']);
    expect(questions).toBe(4);
  });

  it('does not cache one family while the other fails', async () => {
    v6 = () => failure('ETIMEOUT');
    await expect(resolve()).resolves.toEqual(['8.8.8.8']);
    v6 = () => Promise.resolve([{ address: '::1', ttl: 300 }]);
    await expect(resolve()).resolves.toEqual(['8.8.8.8', '::1']);
  });

  it('removes the oldest of 10,000 names', async () => {
    for (let i = 0; i <= 10_000; i += 1) await resolve(`h${i}.example.com`);
    questions = 0;
    await resolve('h10000.example.com');
    await resolve('h1.example.com');
    expect(questions).toBe(0);
    await resolve('h0.example.com');
    expect(questions).toBe(1);
  });

  it('has cached addresses checked for every request', async () => {
    v4 = () => Promise.resolve([{ address: '10.0.0.1', ttl: 300 }]);
    const [hosted, selfHosted] = [true, false].map((isHosted) => new Outbound({ isHosted, resolver }));
    await expect(selfHosted?.assertAllowed('https://hooks.example.com/')).resolves.toBeUndefined();
    await expect(hosted?.assertAllowed('https://hooks.example.com/')).rejects.toThrow('private address range');
    expect(questions).toBe(1);
  });
});

describe('SystemResolver', () => {
  it('caches addresses for a second, since the operating system reports no TTL', async () => {
    const lookup = jest.mocked(dns.lookup).mockResolvedValue([{ address: '10.0.0.1', family: 4 }] as never);
    let nowMs = 0;
    const resolver = new SystemResolver(() => nowMs);
    const resolve = () => resolver.resolve('nas');
    await expect(Promise.all([resolve(), resolve()])).resolves.toEqual([['10.0.0.1'], ['10.0.0.1']]);
    lookup.mockClear();
    nowMs = 999;
    await expect(resolve()).resolves.toEqual(['10.0.0.1']);
    expect(lookup).not.toHaveBeenCalled();
    nowMs = 1_000;
    await resolve();
    expect(lookup).toHaveBeenCalledTimes(1);
  });
});
