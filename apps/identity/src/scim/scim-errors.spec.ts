import supertest from 'supertest';
import { freshAddress } from '../../test/identity-test-app.js';
import { ScimTenants, type ScimClient } from '../../test/scim-test-app.js';
import { SsoTestApp } from '../../test/sso-test-app.js';

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const MEDIA_TYPE = 'application/scim+json; charset=utf-8';

describe('errors of SCIM', () => {
  let sso: SsoTestApp;
  let client: ScimClient;

  beforeAll(async () => {
    sso = await SsoTestApp.start();
    ({ client } = await new ScimTenants(sso).create());
  }, 120_000);
  afterAll(() => sso.stop());

  /** Sends a request without a token. */
  const anonymous = async (method: 'get' | 'post', path: string) => {
    const { status, headers, text } = await supertest(sso.identity.app.getHttpServer() as never)
      [method](`/api/v1/scim${path}`)
      .set('X-Forwarded-For', freshAddress())
      .buffer(true)
      .parse((response, done) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => done(null, text));
      })
      .then((response) => ({ ...response, headers: response.headers, text: response.body as string }));
    return { status, headers, body: JSON.parse(text) as Record<string, unknown> };
  };

  it.each(['/Bulk', '/Me', '/Users/.search/x', '/.search', '', '/', '/users2', '/Users/a/b', '/../v3/Users'])(
    'return 404 for the unknown path "%s"',
    async (path) => {
      const { status, headers, body } = await client.get(path);
      expect(status).toBe(404);
      expect(headers['content-type']).toBe(MEDIA_TYPE);
      expect(body).toMatchObject({ schemas: [ERROR], status: '404', code: 'not_found', detail: 'Not Found' });
    },
  );

  it.each([
    ['put', '/Users', 'GET, POST'],
    ['delete', '/Groups/', 'GET, POST'],
    ['post', '/Users/1', 'GET, PUT, PATCH, DELETE'],
    ['post', '/Groups/.search', 'GET, PUT, PATCH, DELETE'],
    ['patch', '/ServiceProviderConfig', 'GET'],
    ['post', '/Schemas', 'GET'],
    ['delete', '/ResourceTypes/User', 'GET'],
  ] as const)('return 405 for %s %s, with the methods of the endpoint', async (method, path, methods) => {
    const { status, headers, body } = await client.call(method, path);
    expect([status, headers.allow, headers['content-type']]).toEqual([405, methods, MEDIA_TYPE]);
    expect(body).toMatchObject({ schemas: [ERROR], status: '405', code: 'method_not_allowed' });
  });

  it.each([
    ['without a token', '/v2/Users', 401],
    ['without a token, for an unknown path', '/v2/Bulk', 404],
    ['without a version', '/Users', 404],
    ['with a broken escape', '/v2/Users/%zz', 404],
  ])('have the body of SCIM %s', async (_, path, expected) => {
    const { status, headers, body } = await anonymous('get', path);
    expect([status, headers['content-type'], body.schemas]).toEqual([expected, MEDIA_TYPE, [ERROR]]);
    expect(body.status).toBe(String(expected));
  });

  it.each(['/Users', '/Groups'])('return 400 invalidSyntax for malformed JSON at %s', async (path) => {
    const { status, headers, body } = await client.call('post', path, '{"userName":');
    expect([status, headers['content-type']]).toEqual([400, MEDIA_TYPE]);
    expect(body).toMatchObject({ schemas: [ERROR], status: '400', scimType: 'invalidSyntax', code: 'malformed_json' });
  });
});
