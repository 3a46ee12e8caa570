import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  ApiClient,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  type SignedIn,
  untilStatus,
} from '@rmm/testing';
import { createPartnerKey } from '../credentials/machines.js';
import { must } from '../steps.js';

const SITES = 20;

describe('compression of the partner interface', () => {
  const fleet = connectToFleet();
  let partner: SignedIn;
  let apiKey: string;
  let path: string;

  beforeAll(async () => {
    partner = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(partner.client);
    for (let i = 1; i < SITES; i++) {
      must(await partner.client.post('/orgs/sites', { orgId, name: `Branch ${i}`, timezone: 'Europe/Berlin' }), 201);
    }
    ({ key: apiKey } = await createPartnerKey(partner.client, {}, { rateLimit: 300 }));
    path = `/api/v1/partner-api/sites?orgId=${orgId}`;
    const machine = new ApiClient(fleet.baseUrl, { apiKey });
    await untilStatus(() => machine.get('/partner-api/me'), 200);
  });

  /** Returns the bytes as they were sent: fetch would decompress them. */
  async function getBytes(target: string, headers: Record<string, string>) {
    const request = http.get(new URL(target, fleet.baseUrl), { headers });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const bytes = Buffer.concat(await response.toArray());
    return { status: response.statusCode, headers: response.headers, bytes };
  }
  const readSites = (encoding: string, headers: Record<string, string> = {}) =>
    getBytes(path, { 'x-api-key': apiKey, 'accept-encoding': encoding, ...headers });
  const varyOf = ({ vary = '' }: IncomingHttpHeaders) => vary.split(', ');

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const)('compresses a page with %s, and decompresses to the records', async (encoding, decompress) => {
    const plain = await readSites('identity');
    const small = await readSites(encoding);
    expect([plain.headers['content-encoding'], small.headers['content-encoding']]).toEqual([undefined, encoding]);
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 3);
    const { data } = JSON.parse(decompress(small.bytes).toString());
    expect(data).toHaveLength(SITES);
    expect(data).toEqual(JSON.parse(plain.bytes.toString()).data);
    expect(varyOf(small.headers)).toContain('Accept-Encoding');
    expect(varyOf(plain.headers)).toContain('Accept-Encoding');
  });

  it('responds 304 to the entity tag of a compressed page, whatever the next request accepts', async () => {
    const { headers } = await readSites('gzip');
    const tag = String(headers.etag);
    expect(tag).toMatch(/^W\//);
    for (const encoding of ['gzip', 'br', 'identity']) {
      const again = await readSites(encoding, { 'if-none-match': tag });
      expect([again.status, again.bytes.length, again.headers['content-encoding']]).toEqual([304, 0, undefined]);
    }
  });

  it('compresses the public documents', async () => {
    const { headers, bytes } = await getBytes('/openapi.json', { 'accept-encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(gunzipSync(bytes).toString()).openapi).toMatch(/^3\.1/);
  });

  it('does not compress the lists of a session', async () => {
    const bearer = { authorization: `Bearer ${partner.client.credentials.bearer}`, 'accept-encoding': 'gzip' };
    const list = await getBytes('/api/v1/orgs/sites?limit=100', bearer);
    expect(list.status).toBe(200);
    expect(list.bytes.length).toBeGreaterThan(1_024);
    expect(list.headers).not.toHaveProperty('content-encoding');
  });
});
