import { writeFileSync } from 'node:fs';
import { examplesOf, OpenApiDocument, type RecordedCall } from '@rmm/testing/openapi';
import supertest from 'supertest';
import { CredentialsUnderTest } from '../test/credentials-under-test.js';
import { recordedClient } from '../test/recorded-client.js';
import { VISITS } from '../test/visits/visits.js';
import { EXAMPLES_FILE, readExamples } from './openapi-examples.js';

describe('the OpenAPI document of credentials', () => {
  let service: CredentialsUnderTest;
  let document: OpenApiDocument;

  beforeAll(async () => {
    service = await CredentialsUnderTest.start();
    const { body } = await supertest(service.app.getHttpServer() as never).get('/openapi.json');
    document = new OpenApiDocument(body);
  }, 120_000);
  afterAll(() => service.stop());

  it('says in a line what each operation is for', () => {
    expect(document.names.length).toBeGreaterThan(25);
    expect(document.withoutSummary()).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    expect(document.withoutSchema()).toEqual([]);
  });

  it('says what is truly answered, status and body', async () => {
    const calls: RecordedCall[] = [];
    const client = service.client.bind(service);
    jest.spyOn(service, 'client').mockImplementation((...given) => recordedClient(client(...given), calls));
    for (const visit of VISITS) await visit(service);
    expect(document.contradictions(calls)).toEqual([]);
    expect(document.notCalled(calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(calls, document.operationOf), null, 2) + '\n');
    }
  }, 120_000);

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/credentials/jest.config.mjs src/openapi.spec.ts
  it('shows a recorded call with each operation, which still fits', () => {
    const examples = readExamples();
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });

  it('shows no key that was ever alive', () => {
    const shown = JSON.stringify(readExamples()).match(/svc_[\w-]+|[0-9a-f]{64}/g) ?? [];
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((key) => !/^(?:svc_)?(?:sp_)?(.)\1*$/.test(key))).toEqual([]);
  });
});
