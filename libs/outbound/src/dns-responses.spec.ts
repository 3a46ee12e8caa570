import dns from 'node:dns';
import { recordDials } from '../test/dials.js';
import { SingleFlightResolver } from './host-resolver.js';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from './outbound.errors.js';
import { Outbound, type OutboundOptions } from './outbound.service.js';

const LIMITS = { timeoutMs: 2_000, maxResponseBytes: 1_000 };
const HTTPS = 'https://hooks.example.com/';
const HTTP = 'http://hooks.example.com/';

describe('results of the resolver', () => {
  const outbounds: Outbound[] = [];
  let dials: ReturnType<typeof recordDials>;

  beforeEach(() => {
    dials = recordDials();
  });

  afterEach(async () => {
    dials.stop();
    await Promise.all(outbounds.splice(0).map((outbound) => outbound.close()));
  });

  const outboundWith = (options: Partial<OutboundOptions>) => {
    const outbound = new Outbound({ isHosted: true, ...options });
    outbounds.push(outbound);
    return outbound;
  };
  /** Posts to a name with these addresses. Returns the reasons of the refusal, or the dialled addresses. */
  const post = async (url: string, addresses: string[], options: Partial<OutboundOptions> = {}) => {
    dials.dialled.length = 0;
    const outbound = outboundWith({ ...options, resolver: { resolve: () => Promise.resolve(addresses) } });
    const error: unknown = await outbound.post({ url, ...LIMITS }).catch((caught: unknown) => caught);
    if (error instanceof UnsafeAddress) return { reasons: error.reasons, dialled: dials.dialled };
    expect(error).toBeInstanceOf(OutboundFailed);
    return { dialled: dials.dialled };
  };

  const BLOCKED = ['the host is in a blocked address range'];
  const PRIVATE = ['the host is in a private address range'];
  const PLAIN = ['plain http is allowed for private addresses only'];
  const SELF = { isHosted: false };
  const EXTRA = { extraAllowedCidrs: ['127.0.0.0/8', '198.51.100.7', 'fd12::/16', '::1'] };

  it.each<
    [what: string, url: string, options: Partial<OutboundOptions>, addresses: string[], reasons: string[] | null]
  >([
    ['a public address', HTTPS, {}, ['8.8.8.8'], null],
    ['public addresses of both families', HTTPS, {}, ['8.8.8.8', '2606:4700::1111'], null],
    ['a public IPv6 address alone', HTTPS, {}, ['2606:4700::1111'], null],
    ['no address', HTTPS, {}, [], ['the host has no address']],
    ['no address, self-hosted', HTTPS, SELF, [], ['the host has no address']],
    ['an alias of loopback', HTTPS, {}, ['127.0.0.1'], BLOCKED],
    ['an alias of loopback, self-hosted', HTTPS, SELF, ['127.0.0.1'], BLOCKED],
    ['an alias of a metadata address', HTTPS, SELF, ['169.254.169.254'], BLOCKED],
    ['a metadata address inside ULA', HTTPS, SELF, ['fd00:ec2::254'], BLOCKED],
    ['a metadata address that looks public', HTTPS, SELF, ['168.63.129.16'], BLOCKED],
    ['a private address', HTTPS, {}, ['10.0.0.1'], PRIVATE],
    ['a private address, self-hosted', HTTPS, SELF, ['10.0.0.1'], null],
    ['good first, bad last', HTTPS, {}, ['8.8.8.8', '1.1.1.1', '127.0.0.1'], BLOCKED],
    ['bad first, good last', HTTPS, {}, ['127.0.0.1', '8.8.8.8'], BLOCKED],
    ['good IPv4, bad IPv6', HTTPS, {}, ['8.8.8.8', '::1'], BLOCKED],
    ['good IPv6, bad IPv4', HTTPS, {}, ['2606:4700::1111', '0.0.0.0'], BLOCKED],
    ['public and private', HTTPS, {}, ['8.8.8.8', '192.168.1.1'], PRIVATE],
    ['private and blocked', HTTPS, {}, ['192.168.1.1', '127.0.0.1'], [...BLOCKED, ...PRIVATE]],
    ['private and blocked, self-hosted', HTTPS, SELF, ['192.168.1.1', '127.0.0.1'], BLOCKED],
    ['public and private, self-hosted', HTTPS, SELF, ['8.8.8.8', '192.168.1.1'], null],
    ['a synthesised NAT64 address of a public one', HTTPS, {}, ['64:ff9b::808:808'], null],
    ['a synthesised NAT64 address of loopback', HTTPS, {}, ['64:ff9b::7f00:1'], BLOCKED],
    ['a mapped form of a private address', HTTPS, {}, ['::ffff:10.0.0.1'], PRIVATE],
    ['an address with a zone', HTTPS, SELF, ['fe80::1%eth0'], BLOCKED],
    ['a text that is no address', HTTPS, SELF, ['example.com'], BLOCKED],
    ['an address in a loose notation', HTTPS, SELF, ['0x7f.1'], BLOCKED],
    ['plain http, all addresses private', HTTP, SELF, ['10.0.0.1', 'fd12::1'], null],
    ['plain http, one address public', HTTP, SELF, ['10.0.0.1', '8.8.8.8'], PLAIN],
    ['plain http, all addresses public', HTTP, SELF, ['8.8.8.8'], PLAIN],
    ['plain http to loopback', HTTP, SELF, ['127.0.0.1'], BLOCKED],
    ['plain http on hosted', HTTP, {}, ['8.8.8.8'], ['only https is allowed']],
    ['an extra range', HTTPS, EXTRA, ['127.0.0.1'], null],
    ['an extra range, plain http', HTTP, EXTRA, ['127.0.0.1'], null],
    ['an extra range, plain http, self-hosted', HTTP, { ...SELF, ...EXTRA }, ['127.0.0.1', '::1'], null],
    ['an extra address without a prefix', HTTPS, EXTRA, ['198.51.100.7'], null],
    ['the neighbor of an extra address', HTTPS, EXTRA, ['198.51.100.8'], BLOCKED],
    ['an extra range and a bad address', HTTPS, EXTRA, ['127.0.0.1', '169.254.169.254'], BLOCKED],
    ['an extra range and a private address', HTTPS, EXTRA, ['127.0.0.1', '10.0.0.1'], PRIVATE],
    ['an extra range and a public address, plain', HTTP, EXTRA, ['127.0.0.1', '8.8.8.8'], ['only https is allowed']],
    ['an extra range and a public one, self-hosted', HTTP, { ...SELF, ...EXTRA }, ['127.0.0.1', '8.8.8.8'], PLAIN],
  ])('%s', async (_what, url, options, addresses, reasons) => {
    const outcome = await post(url, addresses, options);
    if (reasons) expect(outcome).toEqual({ reasons, dialled: [] });
    else expect(outcome).toEqual({ dialled: addresses });
  });

  it('are read once for each request, which dials those addresses', async () => {
    const lookup = jest.spyOn(dns, 'lookup');
    const addresses = [['8.8.8.8'], ['10.0.0.1'], ['1.1.1.1'], ['169.254.169.254']];
    let questions = 0;
    const outbound = outboundWith({ resolver: { resolve: () => Promise.resolve(addresses[questions++] ?? []) } });
    await expect(outbound.post({ url: HTTPS, ...LIMITS })).rejects.toThrow(OutboundFailed);
    await expect(outbound.post({ url: HTTPS, ...LIMITS })).rejects.toThrow(UnsafeAddress);
    await expect(outbound.post({ url: HTTPS, ...LIMITS })).rejects.toThrow(OutboundFailed);
    await expect(outbound.post({ url: HTTPS, ...LIMITS })).rejects.toThrow(UnsafeAddress);
    expect(dials.dialled).toEqual(['8.8.8.8', '1.1.1.1']);
    expect(questions).toBe(4);
    expect(lookup).not.toHaveBeenCalled();
    lookup.mockRestore();
  });

  it('are checked by assertAllowed, which dials nothing', async () => {
    const check = (addresses: string[]) =>
      outboundWith({ resolver: { resolve: () => Promise.resolve(addresses) } }).assertAllowed(HTTPS);
    await expect(check(['8.8.8.8'])).resolves.toBeUndefined();
    await expect(check(['8.8.8.8', '10.0.0.1'])).rejects.toThrow('the host is in a private address range');
    await expect(check([])).rejects.toThrow('the host has no address');
    expect(dials.dialled).toEqual([]);
  });

  describe('that never arrive', () => {
    const never = () => new Promise<string[]>(() => undefined);

    it('fail after the DNS time limit', async () => {
      const outbound = outboundWith({ dnsTimeoutMs: 50, resolver: { resolve: never } });
      const attempt = outbound.post({ url: HTTPS, ...LIMITS, timeoutMs: 600_000 });
      await expect(attempt).rejects.toThrow(new UnsafeAddress(['the host could not be resolved']).message);
      await expect(outbound.assertAllowed(HTTPS)).rejects.toThrow(UnsafeAddress);
    });

    it('fail after the time of the request when that is shorter', async () => {
      const outbound = outboundWith({ dnsTimeoutMs: 600_000, resolver: { resolve: never } });
      await expect(outbound.post({ url: HTTPS, ...LIMITS, timeoutMs: 50 })).rejects.toThrow(UnsafeAddress);
    });

    it('count in the time limit of the request', async () => {
      let nowMs = 0;
      const resolve = () => Promise.resolve(((nowMs += 2_000), ['8.8.8.8']));
      const outbound = outboundWith({ nowMs: () => nowMs, resolver: { resolve } });
      await expect(outbound.post({ url: HTTPS, ...LIMITS })).rejects.toThrow(OutboundTimeout);
      expect(dials.dialled).toEqual([]);
    });

    it('delay neither later requests nor other hosts', async () => {
      let questions = 0;
      const resolve = (host: string) => (host === 'slow' && questions++ === 0 ? never() : Promise.resolve(['8.8.8.8']));
      const resolver = new SingleFlightResolver({ resolve }, 50);
      const first = resolver.resolve('slow');
      expect(resolver.resolve('slow')).toBe(first);
      await expect(resolver.resolve('fast')).resolves.toEqual(['8.8.8.8']);
      await expect(first).rejects.toThrow('Name resolution timed out');
      await expect(resolver.resolve('slow')).resolves.toEqual(['8.8.8.8']);
    });
  });
});
