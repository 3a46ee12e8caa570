import express from 'express';
import request from 'supertest';
import { parseCidr, type Cidr } from '@rmm/validation';
import { resolveClientAddress, trustProxies } from './client-address.js';

const cidrs = (...ranges: string[]) => ranges.map((range) => parseCidr(range) as Cidr);

/** Returns the client address of a request from this peer. */
async function addressOf(trusted: readonly Cidr[], peer: string | undefined, headers: Record<string, string> = {}) {
  const trusts = trustProxies(trusted);
  const app = express();
  app.set('trust proxy', trusts);
  app.use((received, response) => {
    Object.defineProperty(received.socket, 'remoteAddress', { value: peer });
    response.json({ address: resolveClientAddress(received, trusts(peer ?? '')) ?? null });
  });
  return ((await request(app).get('/').set(headers)).body as { address: string | null }).address;
}

describe('resolveClientAddress', () => {
  const proxies = cidrs('10.0.0.0/8', 'fd00::/8');

  it.each([
    [
      'the peer when it is no proxy, whatever headers it sends',
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
    ['the proxy itself when it sends no header', '10.0.0.1', {}, '10.0.0.1'],
    ['IPv4 that came over IPv6', '::ffff:10.0.0.1', { 'x-forwarded-for': '::ffff:198.51.100.7' }, '198.51.100.7'],
    ['an address with a port', '10.0.0.1', { 'x-forwarded-for': '198.51.100.7:4711' }, '198.51.100.7'],
    ['IPv6 in brackets', 'fd00::1', { 'x-forwarded-for': '[2001:db8::7]:443' }, '2001:db8::7'],
    [
      'the nearest proxy when a hop is no address',
      '10.0.0.1',
      { 'x-forwarded-for': '1.1.1.1, nonsense, 10.0.0.2' },
      '10.0.0.2',
    ],
    [
      'the peer when the hop is longer than any address',
      '10.0.0.1',
      { 'x-forwarded-for': `fe80::1%${'a'.repeat(80)}` },
      '10.0.0.1',
    ],
    ['the peer when the only hop is no address', '10.0.0.1', { 'x-forwarded-for': 'unknown' }, '10.0.0.1'],
    ['unknown when the socket is closed', undefined, { 'x-forwarded-for': '1.1.1.1' }, null],
  ])('is %s', async (_, peer, headers, expected) => {
    expect(await addressOf(proxies, peer, headers as Record<string, string>)).toBe(expected);
  });

  it('is always the peer when no proxy is trusted', async () => {
    expect(await addressOf([], '127.0.0.1', { 'x-forwarded-for': '1.1.1.1' })).toBe('127.0.0.1');
  });
});
