import { Controller, Get, type INestApplication, Post } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { ErrorCodes } from './error-codes.decorator.js';
import { OpenApiDocuments } from './openapi-documents.service.js';

@Controller('things')
class ThingsController {
  @Get()
  list(): string[] {
    return [];
  }

  @Post()
  @ErrorCodes({ 409: ['thing_taken'] })
  create(): string {
    return 'created';
  }
}

describe('OpenApiDocuments', () => {
  let app: INestApplication;
  let documents: OpenApiDocuments;

  beforeEach(async () => {
    const module = await Test.createTestingModule({
      imports: [DiscoveryModule],
      controllers: [ThingsController],
      providers: [OpenApiDocuments],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.setGlobalPrefix('api/v1');
    await app.init();
    documents = app.get(OpenApiDocuments);
  });
  afterEach(() => app.close());

  const info = { title: 'Things', description: 'Everything about things' };

  it('throws before the application is configured', () => {
    expect(() => documents.own()).toThrow('before the application is configured');
  });

  it('builds the document once, with server, security schemes and error body', () => {
    documents.from(app, info, 'https://api.fleet.example');
    const document = documents.own();
    expect(documents.own()).toBe(document);
    expect(document.openapi).toMatch(/^3\.1/);
    expect(document.info).toMatchObject({
      contact: { url: 'https://api.fleet.example/docs' },
      license: { identifier: 'LicenseRef-Proprietary' },
    });
    expect(document.servers).toEqual([{ url: 'https://api.fleet.example' }]);
    expect(Object.keys(document.components?.securitySchemes ?? {}).sort()).toEqual(['apiKey', 'bearer']);
    expect(document.components?.schemas?.ErrorBody).toMatchObject({ required: expect.arrayContaining(['requestId']) });
    expect(document.paths['/api/v1/things'].get?.responses.default).toBeDefined();
  });

  it('completes operations with error codes, recorded examples and what describers add', () => {
    documents.describeOperations((operation, { controller, handler }) => {
      operation['x-required-access'] = `${controller.name}.${handler.name}`;
    });
    const examples = () => ({ 'get /things': [{ path: '/things?limit=1', status: 200, response: [] }] });
    documents.from(app, { ...info, examples }, 'https://api.fleet.example');
    const { get, post } = documents.own().paths['/api/v1/things'];
    expect(post).toMatchObject({
      operationId: 'Things_create',
      'x-required-access': 'ThingsController.create',
      'x-error-codes': { 409: ['thing_taken'], 413: ['payload_too_large'], 429: ['rate_limited'] },
    });
    expect(post?.responses[409]).toEqual({ $ref: '#/components/responses/Conflict', description: '`thing_taken`' });
    expect(get?.description).toContain('curl -X GET "$BASE_URL/api/v1/things?limit=1"');
  });
});
