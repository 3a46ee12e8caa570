import { writeFileSync } from 'node:fs';
import { examplesOf, OpenApiDocument, type RecordedCall } from '@rmm/testing/openapi';
import supertest from 'supertest';
import { IdentityFleet, type RunningIdentity } from '../test/identity-fleet.js';
import { VISITS } from '../test/visits/visits.js';
import { EXAMPLES_FILE, readExamples } from './openapi-examples.js';

describe('the OpenAPI document of identity', () => {
  let fleet: IdentityFleet;
  let identity: RunningIdentity;
  let document: OpenApiDocument;

  beforeAll(async () => {
    fleet = await IdentityFleet.start();
    identity = await fleet.run();
    const { body } = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    document = new OpenApiDocument(body);
  }, 120_000);
  afterAll(() => fleet.stop());

  it('says in a line what each operation is for', () => {
    expect(document.names.length).toBeGreaterThan(50);
    expect(document.withoutSummary()).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    expect(document.withoutSchema()).toEqual([]);
  });

  it('says what is truly answered, status and body', async () => {
    const calls: RecordedCall[] = [];
    const call = identity.call.bind(identity);
    jest.spyOn(identity, 'call').mockImplementation(async (method, path, request, options) => {
      const answer = await call(method, path, request, options);
      const { status, headers, body } = answer;
      const credential = options.bearer === undefined ? undefined : 'bearer';
      calls.push({ method, path, credential, request, status, headers, body });
      return answer;
    });
    for (const visit of VISITS) await visit(identity);
    expect(document.contradictions(calls)).toEqual([]);
    expect(document.notCalled(calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(calls, document.operationOf), null, 2) + '\n');
    }
  }, 120_000);

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/identity/jest.config.mjs src/openapi.spec.ts
  it('shows a recorded call with each operation, which still fits', () => {
    const examples = readExamples();
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });
});
