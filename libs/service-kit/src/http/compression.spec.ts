import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { KitTestApp } from '../../test/kit-test-app.js';

const MANY = '/api/v1/things/many?count=200';

describe('Compressed', () => {
  let kit: KitTestApp;
  beforeAll(async () => {
    kit = await KitTestApp.start({ RATE_LIMITS_ENABLED: 'false' });
    await kit.app.listen(0);
  });
  afterAll(() => kit.stop());

  /** Returns the bytes as they were sent. */
  async function get(path: string, encodings: string, headers: Record<string, string> = {}) {
    const { port } = kit.server.address() as AddressInfo;
    const sent = http.get({ port, path, headers: { 'accept-encoding': encodings, ...headers } });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const bytes = Buffer.concat(await response.toArray());
    return { status: response.statusCode, headers: response.headers, bytes };
  }

  it.each(['gzip', 'br'])('compresses a long response with %s, in less than a third of its bytes', async (encoding) => {
    const [plain, small] = [await get(MANY, 'identity'), await get(MANY, encoding)];
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(small.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(small.bytes.length),
      'content-type': 'application/json; charset=utf-8',
    });
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 3);
    const text = (encoding === 'br' ? brotliDecompressSync : gunzipSync)(small.bytes);
    expect(JSON.parse(text.toString()).data).toHaveLength(200);
  });

  it('names Accept-Encoding in Vary, next to Origin, compressed or not', async () => {
    for (const encodings of ['gzip', 'identity']) {
      const { headers } = await get(MANY, encodings);
      expect(headers['vary']?.split(', ').sort()).toEqual(['Accept-Encoding', 'Origin']);
    }
  });

  it.each([
    ['a short response', '/api/v1/things/many?count=3', 'gzip'],
    ['a client that refuses it', MANY, 'gzip;q=0, identity'],
    ['a response with a strong entity tag', `${MANY}&tag=${encodeURIComponent('"a"')}`, 'gzip'],
    ['a route that is not declared', '/api/v1/things/long', 'gzip'],
    ['an error', '/api/v1/things/many', 'gzip'],
  ])('leaves %s as it is', async (_what, path, encodings) => {
    expect((await get(path, encodings)).headers).not.toHaveProperty('content-encoding');
  });

  it('responds 304 without a body to the weak tag of a compressed response', async () => {
    const path = `${MANY}&tag=${encodeURIComponent('W/"a"')}`;
    const first = await get(path, 'gzip');
    expect(first.headers).toMatchObject({ etag: 'W/"a"', 'content-encoding': 'gzip' });
    const again = await get(path, 'gzip', { 'if-none-match': 'W/"a"' });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    expect(again.headers).not.toHaveProperty('content-encoding');
    expect(again.headers['vary']).toContain('Accept-Encoding');
  });
});
