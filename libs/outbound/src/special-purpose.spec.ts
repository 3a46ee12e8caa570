import ipaddr from 'ipaddr.js';
import { vectors } from '../test/vectors.js';
import { AddressRules } from './address-rules.js';

type Expected = 'refused' | 'allowed' | 'inner';

/** A row of the IANA special-purpose address registries; `inner` is classified by the IPv4 address inside. */
interface Row {
  name: string;
  range: string;
  rfc: string;
  hosted: Expected;
  selfHosted: Expected;
  embeds?: { loopback: string; private: string; public: string };
}

const { ipv4, ipv6, additional } = vectors<Record<'ipv4' | 'ipv6' | 'additional', Row[]>>(
  'special-purpose-addresses.json',
);
const HTTPS = new URL('https://hooks.example.com/');
const HTTP = new URL('http://hooks.example.com/');
const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });

const isAllowed = (rules: AddressRules, address: string, url = HTTPS) => rules.checkAddresses(url, [address]).allowed;

/** First, second, middle and last of a range. */
function samples(range: string): string[] {
  const [base, bits] = ipaddr.parseCIDR(range);
  const first = base.toByteArray();
  const last = first.map((byte, i) => byte | (0xff >> Math.min(8, Math.max(0, bits - 8 * i))));
  const middle = first.map((byte, i) => byte | ((last[i] ^ byte) & 0x55));
  const second = first.map((byte, i) => (i === first.length - 1 ? byte | ((last[i] ^ byte) & 1) : byte));
  return [...new Set([first, second, middle, last].map((bytes) => ipaddr.fromByteArray(bytes).toString()))];
}

const NEIGHBOURS = `
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
  172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 168.63.129.15 168.63.129.17
  2000:: 2001:200:: 2001:db7:ffff:: 2001:db9:: 2001:ffff:: 2003:: 2620:4f:7fff:: 2620:4f:8001:: 3ffe:ffff::
`
  .trim()
  .split(/\s+/);

/** The loopback, private and public judgement of one mode. */
const BY_INNER = { hosted: [false, false, true], selfHosted: [false, true, true] };

describe('special-purpose addresses', () => {
  const classified = (rows: Row[]) =>
    rows.filter(({ embeds }) => !embeds).map((row) => [row.range, row.name, row] as const);

  it.each([...classified(ipv4), ...classified(ipv6), ...classified(additional)])('%s, %s', (range, _name, row) => {
    for (const address of samples(range)) {
      expect([address, isAllowed(hosted, address)]).toEqual([address, row.hosted === 'allowed']);
      expect([address, isAllowed(selfHosted, address)]).toEqual([address, row.selfHosted === 'allowed']);
      expect([address, isAllowed(selfHosted, address, HTTP)]).toEqual([address, row.selfHosted === 'allowed']);
      expect(isAllowed(hosted, address, HTTP)).toBe(false);
    }
  });

  it.each(ipv6.flatMap(({ range, name, embeds }) => (embeds ? [[range, name, embeds] as const] : [])))(
    '%s, %s, by the address inside',
    (range, _name, embeds) => {
      const inside = [embeds.loopback, embeds.private, embeds.public];
      const [base, bits] = ipaddr.IPv6.parseCIDR(range);
      for (const address of inside) expect(ipaddr.IPv6.parse(address).match(base, bits)).toBe(true);
      const byMode = (rules: AddressRules) => inside.map((address) => isAllowed(rules, address));
      expect(byMode(hosted)).toEqual(BY_INNER.hosted);
      expect(byMode(selfHosted)).toEqual(BY_INNER.selfHosted);
    },
  );

  it('has every row of both registries once', () => {
    for (const rows of [ipv4, ipv6]) expect(new Set(rows.map(({ range }) => range)).size).toBe(rows.length);
    expect([ipv4.length, ipv6.length]).toEqual([26, 25]);
  });

  it.each(NEIGHBOURS)('does not block the neighboring address %s', (address) => {
    expect([isAllowed(hosted, address), isAllowed(selfHosted, address)]).toEqual([true, true]);
  });
});
