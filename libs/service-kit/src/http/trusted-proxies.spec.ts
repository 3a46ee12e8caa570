import { parseCidr, type Cidr } from '../config/cidr.js';
import { TrustedProxies } from './trusted-proxies.js';

const cidrs = (...ranges: string[]) => ranges.map((range) => parseCidr(range) as Cidr);
const from = (remoteAddress: string | undefined, headers: Record<string, string> = {}) => ({
  headers,
  socket: { remoteAddress },
});

describe('the client address', () => {
  const proxies = new TrustedProxies(cidrs('10.0.0.0/8', 'fd00::/8'));

  it.each([
    [
      'the peer, when it is no proxy, whatever it claims',
      '203.0.113.9',
      { 'x-forwarded-for': '1.1.1.1' },
      '203.0.113.9',
    ],
    ['the only hop', '10.0.0.1', { 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
    [
      'the right-most hop that is no proxy',
      '10.0.0.1',
      { 'x-forwarded-for': '6.6.6.6, 198.51.100.7, 10.0.0.2' },
      '198.51.100.7',
    ],
    ['the left-most where all are proxies', '10.0.0.1', { 'x-forwarded-for': '10.0.0.9, 10.0.0.2' }, '10.0.0.9'],
    ['X-Real-IP without X-Forwarded-For', '10.0.0.1', { 'x-real-ip': '198.51.100.8' }, '198.51.100.8'],
    ['the proxy itself, when it says nothing', '10.0.0.1', {}, '10.0.0.1'],
    ['IPv4 that came over IPv6', '::ffff:10.0.0.1', { 'x-forwarded-for': '::ffff:198.51.100.7' }, '198.51.100.7'],
    ['an address with a port', '10.0.0.1', { 'x-forwarded-for': '198.51.100.7:4711' }, '198.51.100.7'],
    ['IPv6 in brackets', 'fd00::1', { 'x-forwarded-for': '[2001:db8::7]:443' }, '2001:db8::7'],
    [
      'the nearest proxy, when a hop is no address',
      '10.0.0.1',
      { 'x-forwarded-for': '1.1.1.1, nonsense, 10.0.0.2' },
      '10.0.0.2',
    ],
    ['the peer, when the only hop is no address', '10.0.0.1', { 'x-forwarded-for': 'unknown' }, '10.0.0.1'],
    ['nothing, when the socket is gone', undefined, { 'x-forwarded-for': '1.1.1.1' }, undefined],
  ])('is %s', (_, peer, headers, expected) => {
    expect(proxies.clientAddress(from(peer, headers as Record<string, string>))).toBe(expected);
  });

  it('is always the peer where no proxy is trusted', () => {
    expect(new TrustedProxies([]).clientAddress(from('127.0.0.1', { 'x-forwarded-for': '1.1.1.1' }))).toBe('127.0.0.1');
  });
});

describe('HTTPS', () => {
  const proxies = new TrustedProxies(cidrs('10.0.0.0/8'));

  it('is believed from a trusted proxy only, and its last word counts', () => {
    expect(proxies.isSecure(from('10.0.0.1', { 'x-forwarded-proto': 'https' }))).toBe(true);
    expect(proxies.isSecure(from('10.0.0.1', { 'x-forwarded-proto': 'https, http' }))).toBe(false);
    expect(proxies.isSecure(from('203.0.113.9', { 'x-forwarded-proto': 'https' }))).toBe(false);
    expect(proxies.isSecure({ headers: {}, socket: { remoteAddress: '203.0.113.9', encrypted: true } })).toBe(true);
  });
});
