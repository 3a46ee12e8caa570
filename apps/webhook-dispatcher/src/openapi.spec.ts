import { writeFileSync } from 'node:fs';
import { examplesOf, OpenApiDocument } from '@rmm/testing/openapi';
import supertest from 'supertest';
import { DispatcherOverHttp } from '../test/dispatcher-over-http.js';
import { Visited } from '../test/visits/visited.js';
import { VISITS } from '../test/visits/visits.js';
import { EXAMPLES_FILE, readExamples } from './openapi-examples.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('the OpenAPI document of webhook-dispatcher', () => {
  let service: DispatcherOverHttp;
  let document: OpenApiDocument;

  beforeAll(async () => {
    service = await DispatcherOverHttp.start({ GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
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
    const organization = await service.world.organization();
    const visited = new Visited(service, organization);
    for (const visit of VISITS) await visit(visited);
    expect(document.contradictions(visited.calls)).toEqual([]);
    expect(document.notCalled(visited.calls)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(visited.calls, document.operationOf), null, 2) + '\n');
    }
  });

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/webhook-dispatcher/jest.config.mjs src/openapi.spec.ts
  it('shows a recorded call with each operation, which still fits', () => {
    const examples = readExamples();
    expect(Object.keys(examples).sort()).toEqual([...document.offered].sort());
    expect(document.exampleMismatches(examples)).toEqual([]);
  });

  it('shows no secret that was ever alive', () => {
    const shown = JSON.stringify(readExamples()).match(/whsec_[\w+/=-]+|sha256=\w+/g) ?? [];
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter((secret) => !/^whsec_A+$/.test(secret))).toEqual([]);
  });
});
