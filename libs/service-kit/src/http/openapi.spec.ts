import request from 'supertest';
import { OpenApiDocuments } from '@rmm/openapi';
import { KitTestApp } from '../../test/kit-test-app.js';

describe('the OpenAPI document of a service', () => {
  let kit: KitTestApp;
  beforeAll(async () => {
    kit = await KitTestApp.start({ RATE_LIMITS_ENABLED: 'false' });
    kit.app.get(OpenApiDocuments).describeOperations((operation, { controller, handler }) => {
      operation['x-required-access'] = `${controller.name}.${handler.name}`;
      operation.security = [{ bearer: [] }];
    });
  });
  afterAll(() => kit.stop());

  it('is served on its own port with required access, errors and security schemes', async () => {
    const { body, status } = await request(kit.server).get('/openapi.json');
    expect(status).toBe(200);
    expect(body.openapi).toMatch(/^3\.1/);
    expect(body.servers).toEqual([{ url: 'https://api.fleet.example' }]);
    expect(Object.keys(body.components.securitySchemes).sort()).toEqual(['apiKey', 'bearer']);
    const create = body.paths['/api/v1/things'].post;
    expect(create).toMatchObject({
      operationId: 'Things_create',
      'x-required-access': 'ThingsController.create',
      security: [{ bearer: [] }],
    });
    expect(create.responses.default.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/ErrorBody',
    });
    expect(body.components.schemas.ErrorBody.required).toContain('requestId');
  });

  it('marks a deprecated operation', async () => {
    const { body } = await request(kit.server).get('/openapi.json');
    const { get } = body.paths['/api/v1/things/old'];
    expect(get).toMatchObject({ deprecated: true, 'x-sunset': '2026-12-01' });
    expect(get.responses['200'].headers.Sunset).toMatchObject({ schema: { type: 'string' } });
    expect(body.paths['/api/v1/things'].get.deprecated).toBeUndefined();
  });

  it('declares a deprecated operation in its responses too, refused ones included', async () => {
    for (const [path, status] of [
      ['/api/v1/things/old', 200],
      ['/api/v1/things/old?limit=none', 400],
    ] as const) {
      const response = await request(kit.server).get(path).expect(status);
      expect(response.headers).toMatchObject({
        deprecation: '@1768435200',
        sunset: 'Tue, 01 Dec 2026 00:00:00 GMT',
        link: '</docs>; rel="deprecation"; type="text/html", </docs>; rel="sunset"; type="text/html"',
      });
    }
    const current = await request(kit.server).get('/api/v1/things').expect(200);
    expect(current.headers).not.toHaveProperty('deprecation');
  });

  it('describes fields by the decorators that check them', async () => {
    const { body } = await request(kit.server).get('/openapi.json');
    expect(body.components.schemas.ThingDto).toMatchObject({
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 255 },
        size: { type: 'integer', minimum: 1, maximum: 10 },
        rows: { type: 'array', items: { $ref: '#/components/schemas/RowDto' } },
        scopes: { type: 'array', items: { enum: ['read', 'write'] } },
      },
    });
    const { parameters } = body.paths['/api/v1/things'].get;
    expect(parameters.map(({ name }: { name: string }) => name).sort()).toEqual(['limit', 'orgId', 'page']);
    expect(body.paths['/api/v1/things/{id}'].get.parameters[0].schema).toEqual({ type: 'string', format: 'uuid' });
  });
});
