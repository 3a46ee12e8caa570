import { FixedClock, UnavailableError } from '@rmm/service-kit';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { publicJwk, signingKey } from '../../test/tokens.js';
import { JwksKeys, keysOf } from './jwks.service.js';

const [first, second] = [signingKey('first'), signingKey('second')];

let server: Server;
let fetches: number;
let answer: { status: number; body: string };
let clock: FixedClock;
let keys: JwksKeys;

const list = (...shown: (typeof first)[]) => ({ status: 200, body: JSON.stringify({ keys: shown.map(publicJwk) }) });

beforeEach(async () => {
  fetches = 0;
  answer = list(first);
  server = createServer((_, response) => {
    fetches += 1;
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  clock = new FixedClock();
  keys = new JwksKeys(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`, clock);
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

describe('the JWKS of identity', () => {
  it('is read once for all who ask', async () => {
    const found = await Promise.all([keys.find('first'), keys.find('first'), keys.find('first')]);
    expect(found.every((key) => key?.equals(first.publicKey))).toBe(true);
    await keys.find('first');
    expect(fetches).toBe(1);
  });

  it('is read again for an unknown key, at most once in thirty seconds', async () => {
    await keys.find('first');
    answer = list(first, second);
    expect(await keys.find('second')).toBeNull();
    clock.advance(29_999);
    expect(await keys.find('second')).toBeNull();
    expect(fetches).toBe(1);
    clock.advance(1);
    expect((await keys.find('second'))?.equals(second.publicKey)).toBe(true);
    expect((await keys.find('first'))?.equals(first.publicKey)).toBe(true);
    expect(fetches).toBe(2);
  });

  it.each([
    ['an error', { status: 500, body: 'oops' }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['no JWK set', { status: 200, body: '{}' }],
    ['too much', { status: 200, body: JSON.stringify({ keys: [], padding: 'x'.repeat(70_000) }) }],
  ])('that answers with %s is 503 until it answers well', async (_, bad) => {
    answer = bad;
    await expect(keys.find('first')).rejects.toBeInstanceOf(UnavailableError);
    await expect(keys.find('first')).rejects.toBeInstanceOf(UnavailableError);
    expect(fetches).toBe(1);
    answer = list(first);
    clock.advance(1_000);
    expect(await keys.find('first')).not.toBeNull();
  });

  it('that is gone does no harm to keys that are known', async () => {
    await keys.find('first');
    answer = { status: 503, body: '' };
    clock.advance(3_600_000);
    expect(await keys.find('first')).not.toBeNull();
  });

  it('drops a withdrawn key, and says so', async () => {
    answer = list(first, second);
    await keys.find('first');
    const gone = new Promise((resolve) => keys.onWithdrawn(resolve));
    answer = list(second);
    clock.advance(300_001);
    await keys.find('first');
    expect(await gone).toEqual(['first']);
    expect(await keys.find('first')).toBeNull();
  });

  it('offers P-256 signature keys only', () => {
    const jwk = publicJwk(first);
    const set = {
      keys: [jwk, { ...jwk, kid: 'enc', use: 'enc' }, { kty: 'oct', k: 'AAAA', kid: 'oct' }, { ...jwk, kid: 7 }],
    };
    expect([...keysOf(set).keys()]).toEqual(['first']);
  });
});
