import { overHttps } from '../test/dialled-hosts.js';
import { recordDials } from '../test/dials.js';
import { corpus } from '../test/vectors.js';
import { addressKind } from './address-kind.js';
import { AddressRules } from './address-rules.js';
import { OutboundFailed, UnsafeAddress } from './outbound.errors.js';
import { Outbound } from './outbound.service.js';

const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });
const bracketed = (address: string) => (address.includes(':') ? `[${address}]` : address);
const isAllowed = (rules: AddressRules, address: string) => rules.checkUrl(`https://${bracketed(address)}/`).allowed;

describe('addresses of ipaddr.js', () => {
  const OURS: Record<string, string> = {
    unicast: 'public',
    private: 'private',
    uniqueLocal: 'private',
    // Classified by the embedded address: 192.168.1.10, 31.99.69.232, and 0.0.18.52, which is none.
    ipv4Mapped: 'private',
    '6to4': 'public',
    rfc6052: 'blocked',
  };

  it.each(corpus<{ address: string; range: string }[]>('ipaddr.js/ranges.json'))(
    '$address, which is $range',
    ({ address, range }) => {
      const expected = address.includes('%') ? 'blocked' : (OURS[range] ?? 'blocked');
      expect(addressKind(address)).toBe(expected);
    },
  );

  it.each(corpus<{ spelling: string; address: string | null }[]>('ipaddr.js/spellings.json'))(
    '$spelling means $address',
    ({ spelling, address }) => {
      const check = selfHosted.checkUrl(`https://${spelling}/`);
      // `10.0.0.wtf` is no address here either, but a valid name.
      if (address === null) expect(check).not.toMatchObject({ literal: expect.any(String) });
      else if (address.startsWith('127.')) expect(check.allowed).toBe(false);
      else expect(check).toMatchObject({ allowed: true, literal: address });
      if (address !== null) expect(hosted.checkUrl(`https://${spelling}/`).allowed).toBe(false);
    },
  );
});

describe('addresses of Smokescreen', () => {
  /** Embedded forms are classified by their IPv4 address, and IPv6 is allowed from 2000::/3 only. */
  const DIFFERENT: Record<string, boolean> = { '64:ff9b::808:808': true, '2002:808:808::1': true, '64:ff9c::1': false };

  it.each(corpus<{ address: string; expected: string }[]>('smokescreen/addresses.json'))(
    '$address: $expected',
    ({ address, expected }) => {
      expect(isAllowed(hosted, address)).toBe(DIFFERENT[address] ?? expected === 'ipAllowDefault');
    },
  );

  it.each(corpus<{ hostPort: string; host: string | null; port: number | null }[]>('smokescreen/host-ports.json'))(
    'host and port of $hostPort',
    ({ hostPort, host, port }) => {
      const check = new AddressRules({
        isHosted: false,
        extraAllowedCidrs: ['127.0.0.1', '2001:db8::/32'],
      }).checkUrl(`https://${hostPort}/`);
      if (host === null) expect(check).toEqual({ allowed: false, reasons: ['it is not a valid URL'] });
      else {
        expect(check).toMatchObject({ allowed: true, url: { port: String(port) } });
        expect(check.allowed && check.url.hostname).toBe(bracketed(host.replace(/\.$/, '')));
      }
    },
  );
});

describe('URLs of other SSRF guards', () => {
  const payloads = corpus<{ readme: string[]; cloudInstances: string[]; loopbackNames: Record<string, string> }>(
    'payloads-all-the-things/ssrf-urls.json',
  );
  const blocked = [
    ...corpus<string[]>('ssrf-req-filter/blocked-urls.json'),
    ...corpus<{ blocked: string[] }>('request-filtering-agent/urls.json').blocked,
    ...payloads.readme,
    ...payloads.cloudInstances,
    ...Object.keys(payloads.loopbackNames).map((name) => `http://${name}/`),
  ];
  /** Addresses of the names when the corpus was written: private, loopback and metadata ranges. */
  const ADDRESSES: [RegExp, string][] = [
    [/169\.254\.169\.254|nicob|1ynrnhl/, '169.254.169.254'],
    [/./, '127.0.0.1'],
  ];
  const resolveName = (host: string) => [
    payloads.loopbackNames[host] ?? ADDRESSES.find(([pattern]) => pattern.test(host))?.[1] ?? '',
  ];

  it.each([...new Set(blocked.flatMap((url) => [url, overHttps(url)]))])('%s is refused', async (url) => {
    const dials = recordDials();
    for (const isHosted of [true, false]) {
      const outbound = new Outbound({ isHosted, resolver: { resolve: (host) => Promise.resolve(resolveName(host)) } });
      const error: unknown = await outbound
        .post({ url, timeoutMs: 2_000, maxResponseBytes: 10 })
        .catch((caught: unknown) => caught);
      // A few of their lines are about private or public hosts, which another mode or another scheme may call.
      const may = MAY_DIAL.find(([pattern, , mode]) => pattern.test(url) && (mode === isHosted || mode === null));
      if (may) expect([error instanceof OutboundFailed, [...dials.dialled]]).toEqual([true, [may[1]]]);
      else expect([error instanceof UnsafeAddress, dials.dialled]).toEqual([true, []]);
      dials.dialled.length = 0;
      await outbound.close();
    }
    dials.stop();
  });

  it.each([
    ...corpus<string[]>('ssrf-req-filter/allowed-urls.json'),
    ...corpus<{ allowed: string[] }>('request-filtering-agent/urls.json').allowed.map(overHttps),
  ])('%s is called', async (url) => {
    const dials = recordDials();
    const outbound = new Outbound({ isHosted: true, resolver: { resolve: () => Promise.resolve(['8.8.8.8']) } });
    await expect(outbound.assertAllowed(url)).resolves.toBeUndefined();
    await expect(outbound.post({ url, timeoutMs: 2_000, maxResponseBytes: 10 })).rejects.toThrow(OutboundFailed);
    expect(dials.dialled).toEqual(['8.8.8.8']);
    dials.stop();
    await outbound.close();
  });
});

/** Lines that may be dialled: a pattern, the expected address, and the mode that allows it (null: both). */
const MAY_DIAL: [RegExp, string, boolean | null][] = [
  [/^https?:\/\/3232235521/, '192.168.0.1', false],
  [/^https?:\/\/3232235777/, '192.168.1.1', false],
  [/^https?:\/\/\[fc00::1\]/, 'fc00::1', false],
  [/^https:\/\/1\.1\.1\.1 &@2\.2\.2\.2#/, '2.2.2.2', null],
];
