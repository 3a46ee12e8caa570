import type { OpenAPIObject } from '@nestjs/swagger';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger, type OpenApiDocuments } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { MergedOpenApiService } from './merged-openapi.service.js';

const documentOf = (path: string): OpenAPIObject => ({
  openapi: '3.1.0',
  info: { title: path, version: '1' },
  paths: { [path]: { get: { responses: {} } } },
});

describe('MergedOpenApiService', () => {
  const clock = new FixedClock();
  const logger = Logger.create({ service: 'partner-gateway', level: 'error', sink: { write: () => undefined } });
  const own = { own: () => documentOf('/partner-api/sites') } as OpenApiDocuments;
  let identity: Server;
  let asked: number;
  let up: boolean;
  let openApi: MergedOpenApiService;

  beforeEach(async () => {
    asked = 0;
    up = true;
    identity = createServer((_, response) => {
      asked++;
      response.statusCode = up ? 200 : 503;
      response.end(JSON.stringify(documentOf('/users')));
    });
    await new Promise<void>((resolve) => identity.listen(0, '127.0.0.1', resolve));
    const { port } = identity.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/openapi.json`;
    const openApiSources = [
      { name: 'identity', url },
      { name: 'credentials', url: 'http://127.0.0.1:1/openapi.json' },
      { name: 'partner-gateway', url },
    ];
    openApi = new MergedOpenApiService(
      { openApiSources, publicApiUrl: 'https://api.fleet.example' },
      own,
      clock,
      logger,
    );
  });
  afterEach(async () => {
    identity.closeAllConnections();
    await new Promise((resolve) => identity.close(resolve));
  });

  it('merges the documents of services that respond and lists the others', async () => {
    const document = await openApi.getDocument();
    expect(Object.keys(document.paths)).toEqual(['/partner-api/sites', '/users']);
    expect(document).toMatchObject({
      'x-unavailable': ['credentials'],
      servers: [{ url: 'https://api.fleet.example' }],
    });
  });

  it('fetches once for concurrent requests, and again after a minute', async () => {
    await Promise.all([openApi.getDocument(), openApi.getDocument(), openApi.getDocument()]);
    expect(asked).toBe(1);
    clock.advance(59_999);
    await openApi.getDocument();
    expect(asked).toBe(1);
    clock.advance(1);
    await openApi.getDocument();
    expect(asked).toBe(2);
  });

  it('uses the last document of a service that is down', async () => {
    await openApi.getDocument();
    up = false;
    clock.advance(60_000);
    expect(Object.keys((await openApi.getDocument()).paths)).toContain('/users');
    expect(asked).toBe(2);
  });
});
