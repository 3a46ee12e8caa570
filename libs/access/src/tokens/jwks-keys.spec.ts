import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UnavailableError } from '@rmm/service-kit';
import { publicJwk, signingKey } from '../../test/tokens.js';
import { JwksKeys } from './jwks-keys.js';

const [first, second] = [signingKey('first'), signingKey('second')];

let server: Server;
let fetches: number;
let reply: { status: number; body: string };
let nowMs: number;
let keys: JwksKeys;

const list = (...shown: (typeof first)[]) => ({ status: 200, body: JSON.stringify({ keys: shown.map(publicJwk) }) });

beforeEach(async () => {
  fetches = 0;
  reply = list(first);
  server = createServer((_, response) => {
    fetches += 1;
    response.writeHead(reply.status).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs); // the clock of jose
  keys = new JwksKeys(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`);
});

const advance = (byMs: number) => (nowMs += byMs);

afterEach(() => jest.restoreAllMocks());
afterEach(() => new Promise((resolve) => server.close(resolve)));

describe('JwksKeys', () => {
  it('reads the set once for concurrent calls', async () => {
    const found = await Promise.all([keys.find('first'), keys.find('first'), keys.find('first')]);
    expect(found.every((key) => key?.equals(first.publicKey))).toBe(true);
    await keys.find('first');
    expect(fetches).toBe(1);
  });

  it('reads the set again for an unknown kid, at most once in thirty seconds', async () => {
    await keys.find('first');
    reply = list(first, second);
    expect(await keys.find('second')).toBeNull();
    advance(29_999);
    expect(await keys.find('second')).toBeNull();
    expect(fetches).toBe(1);
    advance(1);
    expect((await keys.find('second'))?.equals(second.publicKey)).toBe(true);
    expect((await keys.find('first'))?.equals(first.publicKey)).toBe(true);
    expect(fetches).toBe(2);
  });

  it.each([
    ['an error', { status: 500, body: 'oops' }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['no JWK set', { status: 200, body: '{}' }],
  ])('throws UnavailableError when the response is %s, and recovers', async (_, bad) => {
    reply = bad;
    await expect(keys.find('first')).rejects.toBeInstanceOf(UnavailableError);
    await expect(keys.find('first')).rejects.toBeInstanceOf(UnavailableError);
    expect(fetches).toBe(1);
    reply = list(first);
    advance(1_000);
    expect(await keys.find('first')).not.toBeNull();
  });

  it('returns known keys while the set cannot be read', async () => {
    await keys.find('first');
    reply = { status: 503, body: '' };
    advance(3_600_000);
    expect(await keys.find('first')).not.toBeNull();
  });

  it('removes a withdrawn key and notifies the listeners', async () => {
    reply = list(first, second);
    await keys.find('first');
    const withdrawn = new Promise((resolve) => keys.onWithdrawn(resolve));
    reply = list(second);
    advance(300_001);
    await keys.find('first');
    expect(await withdrawn).toEqual(['first']);
    expect(await keys.find('first')).toBeNull();
  });

  it('reads the set at once on demand, and keeps the known keys when that fails', async () => {
    reply = list(first, second);
    await keys.find('first');
    const withdrawn = new Promise((resolve) => keys.onWithdrawn(resolve));
    reply = { status: 503, body: '' };
    await keys.reload();
    expect(await keys.find('first')).not.toBeNull();
    reply = list(second);
    await keys.reload();
    expect(await withdrawn).toEqual(['first']);
  });

  it('returns P-256 signature keys only', async () => {
    const jwk = publicJwk(first);
    const set = { keys: [jwk, { ...jwk, kid: 'enc', use: 'enc' }, { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'rsa' }] };
    reply = { status: 200, body: JSON.stringify(set) };
    expect(await keys.find('first')).not.toBeNull();
    expect(await keys.find('enc')).toBeNull();
    expect(await keys.find('rsa')).toBeNull();
  });
});
