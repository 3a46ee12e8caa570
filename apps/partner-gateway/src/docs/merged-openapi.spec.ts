import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OpenAPIObject } from '@nestjs/swagger';
import { FixedClock, Logger, type OpenApiDocuments } from '@rmm/service-kit';
import { MergedOpenApi } from './merged-openapi.js';

const documentOf = (path: string): OpenAPIObject => ({
  openapi: '3.1.0',
  info: { title: path, version: '1' },
  paths: { [path]: { get: { responses: {} } } },
});

describe('the document of the whole fleet', () => {
  const clock = new FixedClock();
  const logger = Logger.create({ service: 'partner-gateway', level: 'error', sink: { write: () => undefined } });
  const own = { own: () => documentOf('/partner-api/sites') } as OpenApiDocuments;
  let identity: Server;
  let asked: number;
  let up: boolean;
  let openApi: MergedOpenApi;

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
    openApi = new MergedOpenApi({ openApiSources, publicApiUrl: 'https://api.fleet.example' }, own, clock, logger);
  });
  afterEach(async () => {
    identity.closeAllConnections();
    await new Promise((resolve) => identity.close(resolve));
  });

  it('is made of those that answer and names those that never did', async () => {
    const document = await openApi.document();
    expect(Object.keys(document.paths)).toEqual(['/partner-api/sites', '/users']);
    expect(document).toMatchObject({
      'x-unavailable': ['credentials'],
      servers: [{ url: 'https://api.fleet.example' }],
    });
  });

  it('asks once for many who come together, and again after a minute', async () => {
    await Promise.all([openApi.document(), openApi.document(), openApi.document()]);
    expect(asked).toBe(1);
    clock.advance(59_999);
    await openApi.document();
    expect(asked).toBe(1);
    clock.advance(1);
    await openApi.document();
    expect(asked).toBe(2);
  });

  it('shows a service that went down as it was', async () => {
    await openApi.document();
    up = false;
    clock.advance(60_000);
    expect(Object.keys((await openApi.document()).paths)).toContain('/users');
    expect(asked).toBe(2);
  });
});
