import { writeFileSync } from 'node:fs';
import supertest from 'supertest';
import { readExamples } from '@rmm/service-kit';
import { examplesOf, OpenApiDocument, type RecordedCall } from '@rmm/testing/openapi';
import { API_EXAMPLES } from '../test/api-examples/index.js';
import { CredentialsTestApp } from '../test/credentials-test-app.js';
import { recordCalls } from '../test/record-calls.js';
import { EXAMPLES_FILE } from './service-options.js';

describe('OpenAPI document of credentials', () => {
  let service: CredentialsTestApp;
  let document: OpenApiDocument;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    const { body } = await supertest(service.app.getHttpServer() as never).get('/openapi.json');
    document = new OpenApiDocument(body);
  }, 120_000);
  afterAll(() => service.stop());

  it('has a summary for each operation', () => {
    expect(document.names.length).toBeGreaterThan(25);
    expect(document.withoutSummary()).toEqual([]);
  });

  it('has a schema for every successful response with a body', () => {
    expect(document.withoutSchema()).toEqual([]);
  });

  it('describes the actual responses, status and body', async () => {
    const calls: RecordedCall[] = [];
    const client = service.client.bind(service);
    jest.spyOn(service, 'client').mockImplementation((...given) => recordCalls(client(...given), calls));
    for (const call of API_EXAMPLES) await call(service);
    expect(document.contradictions(calls)).toEqual([]);
    expect(document.notCalled(calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(calls, document.operationOf), null, 2) + '\n');
    }
  }, 120_000);

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/credentials/jest.config.mjs src/openapi.spec.ts
  it('has a recorded example for each operation that matches its schema', () => {
    const examples = readExamples(EXAMPLES_FILE);
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });

  it('shows no real key', () => {
    const shown = JSON.stringify(readExamples(EXAMPLES_FILE)).match(/svc_[\w-]+|[0-9a-f]{64}/g) ?? [];
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((key) => !/^(?:svc_)?(?:sp_)?(.)\1*$/.test(key))).toEqual([]);
  });
});
