import { ApiClient, connectToFleet } from '@rmm/testing';
import { must } from '../steps.js';

const ONE_OF_EACH = [
  '/api/v1/auth/login',
  '/api/v1/api-keys',
  '/api/v1/partner-api/sites',
  '/api/v1/orgs/import',
  '/api/v1/webhooks',
];

describe('the docs of the fleet', () => {
  const fleet = connectToFleet();
  const client = new ApiClient(fleet.baseUrl);

  it('merge the OpenAPI documents of all five services', async () => {
    const document = must(await client.get('//openapi.json'), 200);
    expect(document.openapi).toMatch(/^3\./);
    expect(Object.keys(document.paths as object)).toEqual(expect.arrayContaining(ONE_OF_EACH));
    const login = document.paths['/api/v1/auth/login'].post;
    expect(login.requestBody.content['application/json'].schema).toBeDefined();
    expect(login.requestBody.content['application/json'].example).toMatchObject({ password: expect.any(String) });
    expect(login.description).toContain('curl -X POST "$BASE_URL/api/v1/auth/login"');
  });

  it('describe the events of webhooks', async () => {
    const document = must(await client.get('//asyncapi.json'), 200);
    expect(document.asyncapi).toBe('3.1.0');
    expect(document.components.messages['device.offline'].examples[0].payload.type).toBe('device.offline');
  });

  it('load no asset from another origin', async () => {
    const page = await client.get('//docs');
    expect(page.status).toBe(200);
    const html = String(page.body);
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(loaded.length).toBeGreaterThan(1);
    expect(loaded.filter((url) => /^(https?:)?\/\//.test(url))).toEqual([]);
    for (const url of loaded.filter((each) => /\.(js|css)$/.test(each))) {
      const path = new URL(url, `${fleet.baseUrl}/docs/`).pathname;
      expect([path, (await client.get(`/${path}`)).status]).toEqual([path, 200]);
    }
    expect(page.headers.get('content-security-policy')).not.toContain('http:');
  });
});
