import { writeFileSync } from 'node:fs';
import supertest from 'supertest';
import { readExamples } from '@rmm/service-kit';
import { examplesOf, OpenApiDocument } from '@rmm/testing/openapi';
import { API_EXAMPLES } from '../test/api-examples/index.js';
import { RecordedClient } from '../test/api-examples/recorded-client.js';
import { DispatcherTestApp } from '../test/dispatcher-test-app.js';
import { EXAMPLES_FILE } from './service-options.js';

describe('the OpenAPI document of webhook-dispatcher', () => {
  let service: DispatcherTestApp;
  let document: OpenApiDocument;

  beforeAll(async () => {
    service = await DispatcherTestApp.start({ GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
    const { body } = await supertest(service.app.getHttpServer()).get('/openapi.json');
    document = new OpenApiDocument(body);
  });

  afterAll(() => service.stop());

  it('says in a line what each operation is for', () => {
    expect(document.names.length).toBeGreaterThan(14);
    expect(document.withoutSummary()).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    expect(document.withoutSchema()).toEqual([]);
  });

  it('says what is truly answered, status and body', async () => {
    const organization = await service.cluster.organization();
    const client = new RecordedClient(service, organization);
    for (const recordCalls of API_EXAMPLES) await recordCalls(client);
    expect(document.contradictions(client.calls)).toEqual([]);
    expect(document.notCalled(client.calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(client.calls, document.operationOf), null, 2) + '\n');
    }
  });

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/webhook-dispatcher/jest.config.mjs src/openapi.spec.ts
  it('shows a recorded call with each operation, which still fits', () => {
    const examples = readExamples(EXAMPLES_FILE);
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });

  it('shows no secret that was ever alive', () => {
    const shown = JSON.stringify(readExamples(EXAMPLES_FILE)).match(/whsec_[\w+/=-]+|sha256=\w+/g) ?? [];
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter((secret) => !/^whsec_A+$/.test(secret))).toEqual([]);
  });
});
