import { writeFileSync } from 'node:fs';
import supertest from 'supertest';
import { readExamples } from '@rmm/service-kit';
import { examplesOf, OpenApiDocument, type RecordedCall } from '@rmm/testing/openapi';
import { API_EXAMPLES } from '../test/api-examples/api-examples.js';
import { IdentityTestApp, type IdentityReplica } from '../test/identity-test-app.js';
import { EXAMPLES_FILE } from './service-options.js';

describe('the OpenAPI document of identity', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let document: OpenApiDocument;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8' });
    const { body } = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    document = new OpenApiDocument(body);
  }, 120_000);
  afterAll(() => testApp.stop());

  it('has a summary for each operation', () => {
    expect(document.names.length).toBeGreaterThan(50);
    expect(document.withoutSummary()).toEqual([]);
  });

  it('has a schema for every success response', () => {
    expect(document.withoutSchema()).toEqual([]);
  });

  it('describes the status and body of real responses', async () => {
    const calls: RecordedCall[] = [];
    const call = identity.call.bind(identity);
    jest.spyOn(identity, 'call').mockImplementation(async (method, path, request, options) => {
      const response = await call(method, path, request, options);
      const { status, headers, body } = response;
      const credential = options.bearer === undefined ? undefined : 'bearer';
      calls.push({ method, path, credential, request, status, headers, body });
      return response;
    });
    for (const call of API_EXAMPLES) await call(identity);
    expect(document.contradictions(calls)).toEqual([]);
    expect(document.notCalled(calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(calls, document.operationOf), null, 2) + '\n');
    }
  }, 120_000);

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/identity/jest.config.mjs src/openapi.spec.ts
  it('has a recorded example for each operation that still fits its schema', () => {
    const examples = readExamples(EXAMPLES_FILE);
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });
});
